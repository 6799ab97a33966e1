import type { Failure } from "../failure.ts";
import { formatBytes, formatShare } from "../format.ts";
import type { Progress } from "../protocol.ts";
import { h, replace, type Child } from "./dom.ts";

export interface Action {
  label: string;
  run(): void;
}

/** A box that says something about the page's state: a failure as an alert, the rest politely. */
export function notice(tone: "plain" | "warn" | "bad", title: string, body: Child[], actions: Action[] = []): HTMLElement {
  return h(
    "div",
    { className: `notice ${tone}`, attrs: { role: tone === "bad" ? "alert" : "status" } },
    h("p", { className: "notice-title" }, title),
    ...body.map((child) => (typeof child === "string" ? h("p", {}, ...withCode(child)) : child)),
    actions.length > 0 && h("div", { className: "actions" }, ...actions.map(actionButton)),
  );
}

/** What stands between backticks is something to type. */
function withCode(text: string): Child[] {
  return text.split("`").map((part, i) => (i % 2 === 1 ? h("code", {}, part) : part));
}

export function failureNotice(failure: Failure, actions: Action[]): HTMLElement {
  const place = failure.offset === undefined ? undefined : `At byte ${failure.offset} of the file.`;
  return notice("bad", failure.message, [failure.advice, place], actions);
}

function actionButton({ label, run }: Action): HTMLElement {
  return h("button", { type: "button", className: "button", onclick: run }, label);
}

/** How far a map has been loaded, with a way out. */
export class OpeningNotice {
  readonly element: HTMLElement;
  readonly #bar = h("progress", { attrs: { "aria-label": "Loaded" } });
  readonly #text = h("span", { className: "quiet" });

  constructor(name: string, cancel: () => void) {
    this.element = h(
      "div",
      { className: "notice plain opening", attrs: { role: "status" } },
      h("p", { className: "notice-title" }, `Opening ${name} …`),
      h("div", { className: "opening-line" }, this.#bar, this.#text, h("button", { type: "button", className: "button", onclick: cancel }, "Cancel")),
    );
  }

  show({ done, total }: Progress): void {
    if (total !== undefined) {
      this.#bar.max = Math.max(total, 1);
      this.#bar.value = done;
    }
    replace(this.#text, total === undefined ? formatBytes(done) : `${formatShare(done, total)} of ${formatBytes(total)}`);
  }
}
