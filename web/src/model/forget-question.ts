import { counted } from "../format.ts";
import { h, replace } from "../ui/dom.ts";
import type { OwnState } from "./client.ts";

/** Asks before what is kept is removed. */
export class ForgetQuestion {
  readonly button: HTMLButtonElement;
  readonly element: HTMLElement;
  readonly #question = h("p", { className: "notice-title" });

  constructor(forget: () => void) {
    const keep = h("button", { type: "button", className: "button" }, "Keep");
    keep.onclick = () => {
      this.#ask(false);
      this.button.focus();
    };
    const sure = h("button", { type: "button", className: "button danger" }, "Forget for good");
    sure.onclick = () => {
      this.#ask(false);
      forget();
    };
    this.button = h("button", { type: "button", className: "button", attrs: { "aria-expanded": "false" } }, "Forget …");
    this.button.onclick = () => {
      const asked = this.button.ariaExpanded !== "true";
      this.#ask(asked);
      // What does no harm is at hand.
      if (asked) keep.focus();
    };
    this.element = h("div", { className: "notice warn", hidden: true, attrs: { role: "group", "aria-label": "Forget" } }, this.#question, h("p", {}, "Only a saved copy brings them back."), h("div", { className: "actions" }, keep, sure));
    this.of(undefined);
  }

  /** What would be removed; nothing, and there is nothing to ask. */
  of(own: OwnState | undefined): void {
    this.button.hidden = own === undefined;
    if (own === undefined) return this.#ask(false);
    const damaged = own.aside.length > 0 && ` and ${counted(own.aside.length, "damaged file")}`;
    replace(this.#question, `Remove ${counted(own.runs, "run")}`, damaged, " of this model from this browser?");
  }

  #ask(asked: boolean): void {
    this.element.hidden = !asked;
    this.button.setAttribute("aria-expanded", String(asked));
  }
}
