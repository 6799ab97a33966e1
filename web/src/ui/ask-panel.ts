import type { Client } from "../client.ts";
import { asFailure } from "../failure.ts";
import { formatTime } from "../format.ts";
import type { Asked, Suggestion } from "../protocol.ts";
import type { Message } from "../text/template.ts";
import { answerCard, type AnswerActions } from "./answer-card.ts";
import { h, replace, uniqueId } from "./dom.ts";
import { failureNotice } from "./notice.ts";

const SUGGESTIONS = 5;

export interface AskActions {
  showRun(run: number): void;
}

/** A prompt, and what the map says to it. A conversation can go on as long as the map knows it. */
export class AskPanel {
  readonly element: HTMLElement;
  readonly #client: Client;
  readonly #actions: AskActions;
  readonly #prompt = h("textarea", { rows: 2, placeholder: "Write a Python function that reverses a string." });
  readonly #system = h("textarea", { rows: 2, placeholder: "The model’s own default" });
  readonly #before = h("div", { className: "before" });
  readonly #suggestions = h("div", { className: "suggestions" });
  readonly #result = h("div", { className: "result" });
  /** What a screen reader says: one sentence, not the whole answer. */
  readonly #said = h("p", { className: "visually-hidden", attrs: { role: "status" } });
  #history: Message[] = [];
  /** The conversation was filled in with the prompt: it belongs to that prompt, not to another that is typed over it. */
  #borrowed = false;
  #asking = 0;
  #asked: Message[] | undefined;

  constructor(client: Client, actions: AskActions) {
    this.#client = client;
    this.#actions = actions;
    const form = h(
      "form",
      { className: "composer" },
      labelled("Prompt", this.#prompt),
      h(
        "div",
        { className: "composer-foot" },
        h("details", {}, h("summary", {}, "System message"), labelled("System message", this.#system, true)),
        h("button", { type: "submit", className: "button primary" }, "Ask the map"),
      ),
    );
    form.onsubmit = (event) => {
      event.preventDefault();
      void this.#ask();
    };
    this.#prompt.onkeydown = (event) => {
      // Enter asks, as in every chat; with shift it is a new line. Not while a character is being composed.
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      void this.#ask();
    };
    this.#prompt.oninput = () => this.#borrowed && this.#forget();
    this.element = h("div", { className: "ask-panel" }, this.#before, form, this.#suggestions, this.#said, this.#result);
    void this.suggest();
  }

  /** Fills in a whole conversation and asks it. */
  ask(messages: Message[]): void {
    const system = messages[0]?.role === "system" ? messages[0].content : "";
    this.#system.value = system;
    this.#history = messages.slice(system === "" ? 0 : 1, -1);
    this.#prompt.value = messages.at(-1)?.content ?? "";
    this.#borrowed = true;
    void this.#ask();
  }

  /** The conversation whose answer (or none) is shown. */
  get asked(): Message[] | undefined {
    return this.#asked;
  }

  /** Prompts that this map answers, so that nobody has to guess. */
  async suggest(): Promise<void> {
    try {
      const found = await this.#client.call("suggest", [SUGGESTIONS]);
      replace(this.#suggestions, found.length > 0 && this.#suggestionList(found));
    } catch {
      // Nothing to suggest; asking itself says what is wrong.
      replace(this.#suggestions);
    }
  }

  #suggestionList(found: Suggestion[]): HTMLElement {
    const id = uniqueId("suggestions");
    const list = h("ul", { attrs: { "aria-labelledby": id } });
    for (const { messages } of found) {
      const turns = messages.filter(({ role }) => role === "user").length;
      list.append(
        h(
          "li",
          {},
          h("button", { type: "button", className: "chip", onclick: () => this.ask(messages) }, messages.at(-1)!.content, turns > 1 && h("span", { className: "quiet" }, ` (turn ${turns})`)),
        ),
      );
    }
    return h(
      "div",
      {},
      h("p", { className: "suggestions-head" }, h("span", { id }, "Prompts this map knows"), h("button", { type: "button", className: "link", onclick: () => void this.suggest() }, "Show others")),
      list,
    );
  }

  #messages(): Message[] {
    const system = this.#system.value;
    return [...(system === "" ? [] : [{ role: "system", content: system } as const]), ...this.#history, { role: "user", content: this.#prompt.value }];
  }

  async #ask(): Promise<void> {
    if (this.#prompt.value === "") return this.#prompt.focus();
    const asking = ++this.#asking;
    const messages = this.#messages();
    this.#showBefore();
    this.element.setAttribute("aria-busy", "true");
    try {
      const asked = await this.#client.call("ask", [messages]);
      if (asking === this.#asking) this.#show(asked, messages);
    } catch (thrown) {
      if (asking === this.#asking) replace(this.#result, failureNotice(asFailure(thrown), []));
    } finally {
      if (asking === this.#asking) this.element.removeAttribute("aria-busy");
    }
  }

  #show(asked: Asked, messages: Message[]): void {
    const { answer } = asked;
    this.#asked = messages;
    const actions: AnswerActions = {
      showRun: this.#actions.showRun,
      ...(answer && {
        goOn: () => {
          this.#borrowed = false;
          this.#history = [...messages.filter(({ role }) => role !== "system"), { role: "assistant", content: answer.text }];
          this.#prompt.value = "";
          replace(this.#result);
          this.#showBefore();
          this.#prompt.focus();
        },
      }),
    };
    replace(this.#result, answerCard(this.#client, asked, actions));
    replace(this.#said, answer ? `Answered from the map in ${formatTime(answer.time.milliseconds)}.` : "No answer from this map.");
  }

  /** The next prompt begins a conversation of its own. */
  #forget(): void {
    this.#borrowed = false;
    this.#history = [];
    this.#system.value = "";
    replace(this.#before);
  }

  /** What has been said before, when a conversation goes on. */
  #showBefore(): void {
    const turns = this.#history.filter(({ role }) => role === "user").length;
    if (turns === 0) return replace(this.#before);
    const last = this.#history.findLast(({ role }) => role === "user")!.content;
    const again = (): void => {
      this.#forget();
      replace(this.#result);
      this.#prompt.focus();
    };
    replace(
      this.#before,
      h("p", {}, h("span", { className: "quiet" }, `Turn ${turns + 1}, after `), `“${last.length > 80 ? `${last.slice(0, 80)}…` : last}”`),
      h("button", { type: "button", className: "link", onclick: again }, "Start over"),
    );
  }
}

function labelled(label: string, field: HTMLElement, hidden = false): HTMLElement {
  field.id = uniqueId("field");
  return h("div", { className: "field" }, h("label", { className: hidden ? "visually-hidden" : "", htmlFor: field.id }, label), field);
}
