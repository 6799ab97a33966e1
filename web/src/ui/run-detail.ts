import type { Client } from "../client.ts";
import { counted, formatCount } from "../format.ts";
import type { RunView } from "../protocol.ts";
import type { Message } from "../text/template.ts";
import { copyButton } from "./copy.ts";
import { h } from "./dom.ts";
import { notice } from "./notice.ts";
import { tokensView } from "./tokens-view.ts";
import { facts, turnsView } from "./turns-view.ts";

export interface DetailActions {
  ask(messages: Message[]): void;
  back(): void;
}

/** One run: what the model was given, what it answered, and how the answer ends. */
export function runDetail(client: Client, view: RunView, { ask, back }: DetailActions): HTMLElement {
  const { info, turns, tokens, ending, messages } = view;
  const answer = (): string =>
    turns.flatMap(({ pieces }) => pieces.filter(({ after, kind }) => after && kind === "text").map(({ text }) => text)).join("");
  return h(
    "article",
    { className: "run-detail", attrs: { "aria-labelledby": "run-name" } },
    h("button", { type: "button", className: "button back", onclick: back }, "← Runs"),
    h("h2", { id: "run-name", tabIndex: -1 }, `Run ${formatCount(info.run)}`),
    facts(
      info.kind === "track" ? "track" : "session",
      `${counted(info.contextLength, "token")} given`,
      info.answerLength > 0 ? `${counted(info.answerLength, "token")} answered` : "no answer of its own",
      info.uses > 0 && `used ${formatCount(info.uses)}×`,
      info.foreign && "foreign: drafts only",
      `at byte ${formatCount(info.offset)}`,
    ),
    info.kind === "track" && track(view),
    tokens &&
      h(
        "div",
        { className: "actions" },
        messages && h("button", { type: "button", className: "button", onclick: () => ask(messages) }, "Ask this"),
        info.answerLength > 0 && copyButton("Copy answer", answer),
      ),
    turns.length > 0 && turnsView(turns, { after: "answer", role: "text", ...(ending === "stop" || ending === "cut" ? { end: ending } : {}) }),
    tokens && endingLine(ending),
    tokens && tokensView(client, tokens),
  );
}

function endingLine(ending: RunView["ending"]): HTMLElement | false {
  if (ending === "stop") return h("p", { className: "ending" }, "The answer is whole: it ends with the stop token.");
  if (ending === "cut") return h("p", { className: "ending cut" }, "The run ends without a stop token: this is not the whole answer.");
  return false;
}

function track({ info }: RunView): HTMLElement {
  return notice("plain", `Its answer is written as copies from a context of ${counted(info.contextLength, "token")}.`, [
    `That context${info.source ? ` (“${info.source}”)` : ""} is not in the map, only its hash; without it the answer cannot be read. Whoever has the context can decode it with \`mrail tracks\`.`,
  ]);
}
