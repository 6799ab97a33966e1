import { formatCount } from "../format.ts";
import type { Piece, Turn } from "../text/turns.ts";
import { h, type Child } from "./dom.ts";

/** Longest piece of text that is drawn at once. */
const CLIP = 40_000;

export interface TurnsOptions {
  /** What lies after the boundary: the answer of a run, or the part of a prompt that the map does not know. */
  after: "answer" | "unknown";
  /** How the line ends: at a stop, or open. */
  end?: "stop" | "cut";
  /** A role for turns without one. */
  role?: string;
}

/** A conversation as a line with a station for each turn. The text is the model's, to the letter. */
export function turnsView(turns: Turn[], options: TurnsOptions): HTMLElement {
  const list = h("ol", { className: "rail" });
  // In a prompt the border runs through the middle of a text: it is marked in words, once.
  const border = options.after === "unknown" ? turns.findIndex(({ pieces }) => pieces.some((piece) => piece.after)) : -1;
  turns.forEach((turn, i) => list.append(station(turn, options, i === border, i === turns.length - 1)));
  return list;
}

function station({ role, pieces }: Turn, { after, end, role: fallback }: TurnsOptions, border: boolean, last: boolean): HTMLElement {
  const name = role || fallback || "text";
  const reached = pieces.some((piece) => piece.after);
  const text = h("div", { className: "turn-text" });
  const first = pieces.findIndex((piece) => piece.after);
  pieces.forEach((piece, i) => {
    if (border && i === first) text.append(h("span", { className: "border" }, "known up to here"));
    text.append(...draw(piece, after));
  });
  const item = h(
    "li",
    { className: "turn", data: { role: name } },
    h("div", { className: "turn-role" }, name, reached && after === "answer" && h("span", { className: "turn-note" }, "answer")),
    text,
  );
  if (reached) item.classList.add(after);
  if (last && end) item.classList.add(`ends-${end}`);
  return item;
}

function draw({ kind, text, after }: Piece, part: TurnsOptions["after"]): Node[] {
  const className = after ? `piece ${part}` : "piece";
  if (kind === "special") return [h("span", { className: "token special", title: "A control token, not text" }, text)];
  if (kind === "outside") return [h("span", { className: "token outside", title: "No token of this tokenizer" }, text)];
  return clipped(text).map((child) => (typeof child === "string" ? prose(child, className) : child));
}

/** Code between fences in a fixed pitch; every character stays where it is (a line end at a block's end takes no room). */
function prose(text: string, className: string): Node {
  const parts = text.split(/(```[^`]*(?:```\n?|$))/);
  const span = h("span", { className });
  for (const part of parts) {
    if (part.startsWith("```")) span.append(h("code", { className: "fence" }, part));
    else if (part !== "") span.append(part);
  }
  return span;
}

/** Very long texts with the middle folded away. */
function clipped(text: string): (string | HTMLElement)[] {
  if (text.length <= CLIP) return [text];
  const [from, to] = [CLIP / 2, text.length - CLIP / 2];
  const fold = h("button", { type: "button", className: "fold" }, `… ${formatCount(to - from)} more characters …`);
  fold.onclick = () => fold.replaceWith(prose(text.slice(from, to), "piece"));
  return [text.slice(0, from), fold, text.slice(to)];
}

/** A line of facts with dots between. */
export function facts(...parts: Child[]): HTMLElement {
  return h("p", { className: "facts" }, ...parts.filter((part) => part !== false && part !== undefined && part !== null).map((part) => h("span", {}, part)));
}
