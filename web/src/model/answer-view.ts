import type { Chunk, Stats } from "mrail-gpu";
import { counted, formatCount, formatTime } from "../format.ts";
import { h, replace, type Child } from "../ui/dom.ts";
import type { Answered } from "./client.ts";

type Origin = Exclude<Chunk["origin"], "context">;

/** Told apart by line and weight, not by colour alone. */
const LEGEND: [Origin, string][] = [
  ["map", "from the map"],
  ["draft", "drafted, and right"],
  ["model", "decoded"],
];

const ENDS = {
  stop: "The answer is whole.",
  maxNew: "Cut at the length that was asked for.",
  full: "Cut: there is no room for another token.",
  open: "Stopped.",
};

/** One answer as it comes: where each token is from, and what it took. */
export class AnswerView {
  readonly element: HTMLElement;
  readonly #text = h("div", { className: "answer-text", attrs: { "aria-live": "polite", "aria-label": "Answer" } });
  readonly #state = h("p", { className: "quiet", attrs: { role: "status" } }, "Looking into the map …");
  readonly #stats = h("dl", { className: "pairs wide" });
  readonly #start = performance.now();
  #tokens = 0;
  /** The last piece, which more of the same origin is added to. */
  #piece: HTMLElement | undefined;

  constructor(prompt: string) {
    this.element = h(
      "article",
      { className: "card answer-card", data: { state: "running" } },
      h("p", { className: "asked" }, prompt),
      h("ul", { className: "legend", attrs: { "aria-label": "Where the text comes from" } }, ...LEGEND.map(([origin, label]) => h("li", {}, h("span", { className: `from ${origin}` }, "text"), ` ${label}`))),
      this.#text,
      this.#state,
      this.#stats,
    );
  }

  add({ text, tokens, origin, read, stats }: Chunk): void {
    if (origin === "context") {
      if (read) replace(this.#state, `Reading the prompt: ${formatCount(read.tokens)} of ${counted(read.of, "token")} …`);
      return;
    }
    this.#tokens += tokens.length;
    if (this.#piece?.dataset["origin"] !== origin) {
      this.#piece = h("span", { className: `from ${origin}`, data: { origin } });
      this.#text.append(this.#piece);
    }
    this.#piece!.append(text);
    replace(this.#state, `${counted(this.#tokens, "token")} …`);
    this.#show(stats, performance.now() - this.#start);
  }

  end(answered: Answered | undefined): void {
    this.element.dataset["state"] = "done";
    if (answered === undefined) return replace(this.#state, "Stopped.");
    const { end, stats, milliseconds } = answered;
    replace(this.#state, ENDS[end ?? "open"], stats.written && " It is in the map now.");
    this.#show(stats, milliseconds);
    for (const fault of stats.faults) this.element.append(h("p", { className: "notice warn" }, fault));
  }

  #show(stats: Stats, milliseconds: number): void {
    const accepted = stats.accepted.own + stats.accepted.conversation + stats.accepted.foreign;
    const row = (term: string, id: string, ...value: Child[]): HTMLElement => h("div", {}, h("dt", {}, term), h("dd", { data: { stat: id } }, ...value));
    const speed = this.#tokens > 0 ? ` (${((1000 * this.#tokens) / Math.max(milliseconds, 0.1)).toFixed(1)} tokens/s)` : "";
    const known = stats.kept + stats.restored;
    replace(
      this.#stats,
      row("Evaluated", "evaluated", `${counted(stats.evaluated, "token")}`),
      row("From the map", "served", counted(stats.served, "token")),
      row("Prompt", "context", counted(stats.context, "token"), known > 0 && `; ${formatCount(known)} kept from before`),
      row("Passes", "passes", formatCount(stats.passes)),
      row("Accepted a pass", "accepted", stats.passes > 0 ? `${(accepted / stats.passes).toFixed(2)} of ${(stats.drafted / stats.passes).toFixed(1)} drafted` : "–"),
      row("Time", "time", formatTime(milliseconds), speed),
    );
  }
}
