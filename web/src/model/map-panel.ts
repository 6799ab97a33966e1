import { counted, formatBytes } from "../format.ts";
import { h, replace } from "../ui/dom.ts";
import type { Given, OwnState } from "./client.ts";
import { filePicker } from "./file-picker.ts";
import { ForgetQuestion } from "./forget-question.ts";

export interface MapActions {
  attach(given: Given, trusted: boolean): void;
  detach(): void;
  /** The own map, or a damaged one that was set aside. */
  save(aside?: string): void;
  forget(): void;
}

/** The maps beside the model: the own one, which answers and grows, and others that draft. */
export class MapPanel {
  readonly element: HTMLFieldSetElement;
  readonly #own = h("li", { data: { own: "" } });
  readonly #list = h("ul", { className: "map-list" });
  readonly #notes = h("div", { className: "map-notes", attrs: { role: "status" } });
  readonly #detach: HTMLButtonElement;
  readonly #forget: ForgetQuestion;
  readonly #save: MapActions["save"];
  /** The trusted map that was attached, if one was. */
  #attached: string | undefined;

  constructor({ attach, detach, save, forget }: MapActions) {
    this.#save = save;
    const trust = h("input", { type: "checkbox", className: "switch", attrs: { role: "switch", "aria-describedby": "map-trust" } });
    this.#detach = h("button", { type: "button", className: "button", hidden: true, onclick: detach }, "Leave all maps");
    this.#forget = new ForgetQuestion(forget);
    this.element = h(
      "fieldset",
      { className: "card panel", disabled: true },
      h("legend", { className: "visually-hidden" }, "Map"),
      h("h2", { attrs: { "aria-hidden": "true" } }, "Map"),
      h("p", { className: "quiet" }, "Answers are kept in a map, and known prompts are answered from it without the model."),
      this.#list,
      this.#notes,
      h("div", { className: "actions" }, h("button", { type: "button", className: "button", onclick: () => save() }, "Save a copy"), this.#forget.button, this.#detach),
      this.#forget.element,
      filePicker({ id: "map-address", accept: ".mrail", choose: "Attach a map …", placeholder: "maps/smollm2-coding.mrail", take: (given) => attach(given, trust.checked) }),
      h("label", { className: "switch-line" }, trust, h("span", {}, "Its answers are this model’s own")),
      h("p", { id: "map-trust", className: "quiet" }, "Trusted, it becomes the model’s own map and answers. Otherwise it only drafts, and the model checks every token."),
    );
    this.empty();
  }

  /** No model is loaded. */
  empty(): void {
    this.element.disabled = true;
    this.#left();
    replace(this.#own, badge("good", "own"), "none yet");
    replace(this.#notes);
    this.#forget.of(undefined);
  }

  /** What the own map holds now, and where it is. */
  show(own: OwnState): void {
    this.element.disabled = false;
    const { runs, bytes, kept, why, forgettable, notes, aside } = own;
    const where = this.#attached ?? (kept ? "kept in this browser" : "in memory");
    const holds = `${counted(runs, "run")}, ${formatBytes(bytes)}`;
    replace(this.#own, badge(kept ? "good" : "warn", "own"), h("span", { className: "map-file" }, where, h("span", { className: "quiet map-size" }, holds)));
    replace(
      this.#notes,
      ...[...notes, why].map((note) => note !== undefined && h("p", {}, note)),
      ...aside.map(({ name, bytes }) => h("button", { type: "button", className: "link", onclick: () => this.#save(name) }, `Save the damaged file (${formatBytes(bytes)})`)),
    );
    this.#forget.of(forgettable ? own : undefined);
  }

  attached(name: string, trusted: boolean): void {
    const file = name.split("/").at(-1) ?? name;
    if (trusted) this.#attached = file;
    else this.#list.append(h("li", {}, badge("warn", "drafts only"), h("span", { className: "map-file" }, file)));
    this.#detach.hidden = false;
  }

  detached(): void {
    this.#left();
  }

  #left(): void {
    this.#attached = undefined;
    replace(this.#list, this.#own);
    this.#detach.hidden = true;
  }
}

function badge(tone: "good" | "warn", label: string): HTMLElement {
  return h("span", { className: `badge ${tone}` }, label);
}
