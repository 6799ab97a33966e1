import { h } from "../ui/dom.ts";

export interface AskOptions {
  maxNew: number;
  draft: number;
  useMap: boolean;
}

/** The prompt, how it is answered, and the way to end that. */
export class AskForm {
  readonly element: HTMLFormElement;
  readonly #prompt = h("textarea", { id: "prompt", rows: 3, placeholder: "What is a hash table?" });
  readonly #ask = h("button", { type: "submit", className: "button primary", disabled: true }, "Answer");
  readonly #stop: HTMLButtonElement;
  readonly #draft: HTMLInputElement;
  #ready = false;
  #answering = false;

  constructor(ask: (prompt: string, options: AskOptions) => void, stop: () => void) {
    const number = (id: string, value: number, max: number): HTMLInputElement => h("input", { type: "number", id, value: String(value), min: "0", max: String(max), required: true });
    const most = number("max-new", 128, 4096);
    const draft = (this.#draft = number("draft", 8, 63));
    const useMap = h("input", { type: "checkbox", checked: true, id: "use-map" });
    this.#stop = h("button", { type: "button", className: "button", hidden: true, onclick: stop }, "Stop");
    this.element = h(
      "form",
      { className: "composer" },
      h("div", { className: "field" }, h("label", { htmlFor: "prompt" }, "Prompt"), this.#prompt),
      h(
        "div",
        { className: "ask-options" },
        h("label", { className: "inline-field" }, "Tokens at most", most),
        h("label", { className: "inline-field" }, "Drafted at once", draft),
        h("label", { className: "inline-field" }, useMap, "Use the map"),
        h("div", { className: "actions" }, this.#stop, this.#ask),
      ),
    );
    this.element.onsubmit = (event) => {
      event.preventDefault();
      if (!this.#ready || this.#answering) return;
      if (this.#prompt.value.trim() === "") this.#prompt.focus();
      else ask(this.#prompt.value, { maxNew: most.valueAsNumber, draft: draft.valueAsNumber, useMap: useMap.checked });
    };
    this.#prompt.onkeydown = (event) => {
      // A line break is Shift+Enter, as in the map's own form.
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.element.requestSubmit();
    };
  }

  /** For a model, and as many drafts as pay where it runs, unless somebody has said how many. */
  enable(draft: number): void {
    if (this.#draft.value === this.#draft.defaultValue) this.#draft.value = this.#draft.defaultValue = String(draft);
    this.#ready = true;
    this.#show();
  }

  disable(): void {
    this.#ready = false;
    this.#show();
  }

  busy(answering: boolean): void {
    this.#answering = answering;
    this.#show();
  }

  #show(): void {
    this.#ask.disabled = !this.#ready || this.#answering;
    this.#stop.hidden = !this.#answering;
  }
}
