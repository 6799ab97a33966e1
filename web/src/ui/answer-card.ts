import type { Client } from "../client.ts";
import { counted, formatCount, formatTime } from "../format.ts";
import type { Asked } from "../protocol.ts";
import { copyButton } from "./copy.ts";
import { h } from "./dom.ts";
import { draftView } from "./draft-view.ts";
import { tokensView } from "./tokens-view.ts";
import { facts, turnsView } from "./turns-view.ts";

export interface AnswerActions {
  showRun(run: number): void;
  /** Asks on after this answer. */
  goOn?(): void;
}

type Answer = NonNullable<Asked["answer"]>;

const ENDS: Record<Answer["end"], string> = {
  stop: "The answer is whole: it ends with the stop token.",
  run: "The run ends without a stop token: this is not the whole answer. A run time would go on decoding from here.",
  maxNew: "Cut at the length that was asked for.",
};

/** What the map says to a prompt. */
export function answerCard(client: Client, asked: Asked, actions: AnswerActions): HTMLElement {
  return asked.answer ? known(client, asked, asked.answer, actions) : unknown(client, asked);
}

function known(client: Client, asked: Asked, answer: Answer, { showRun, goOn }: AnswerActions): HTMLElement {
  return h(
    "section",
    { className: "card answer-card", attrs: { "aria-label": "Answer" } },
    h("p", { className: "answer-head" }, h("span", { className: "answer-time" }, formatTime(answer.time.milliseconds)), h("span", {}, " from the map, without the model")),
    facts(
      `finding the prompt and copying the answer: median over ${formatCount(answer.time.calls)} calls`,
      `the tokenizer before it took ${formatTime(asked.tokenizing.milliseconds)}`,
      `${formatCount(asked.ids.length)} + ${counted(answer.tokens, "token")}`,
    ),
    turnsView(answer.turns, { after: "answer", role: "assistant", end: answer.end === "stop" ? "stop" : "cut" }),
    h("p", { className: answer.end === "stop" ? "ending" : "ending cut" }, ENDS[answer.end]),
    h(
      "div",
      { className: "actions" },
      copyButton("Copy answer", () => answer.text),
      goOn && h("button", { type: "button", className: "button", onclick: goOn }, "Ask on"),
      h("button", { type: "button", className: "button", onclick: () => showRun(answer.run) }, `Show run ${formatCount(answer.run)}`),
    ),
    asSent(client, asked),
  );
}

function unknown(client: Client, asked: Asked): HTMLElement {
  const { ids, shared, draft, refused } = asked;
  return h(
    "section",
    { className: "card answer-card unknown", attrs: { "aria-label": "No answer" } },
    h("p", { className: "answer-head" }, refused === "foreign" ? "This map drafts, it does not answer." : "The map does not know this prompt."),
    h("p", {}, why(asked)),
    turnsView(asked.prompt, { after: "unknown" }),
    draft.length > 0 &&
      h(
        "details",
        { className: "draft-box", open: refused === "foreign" },
        h("summary", {}, "How the map would go on"),
        h("p", { className: "quiet" }, "A draft from what was said in other runs, best first. A model checks it before any of it counts; it is no answer."),
        draftView(draft),
      ),
    facts(`${formatCount(shared)} of ${counted(ids.length, "token")} known`, `tokenizer ${formatTime(asked.tokenizing.milliseconds)}`),
    tokensView(client, ids, "Token ids of the prompt"),
  );
}

function why({ refused, shared, ids }: Asked): string {
  if (refused === "foreign") {
    return "It holds this whole prompt, but it is declared foreign: what it says may not be this model’s own answer. If you know that it is, switch that on in the overview.";
  }
  if (shared === ids.length) return "It holds the whole prompt, but only inside a longer one: no answer starts here.";
  return `No run begins with all of it, so nothing is answered: a guess would not be the model’s answer. The map knows the first ${counted(shared, "token")} of ${formatCount(ids.length)}.`;
}

/** The prompt as the model reads it: with the chat template around. */
function asSent(client: Client, { prompt, ids }: Asked): HTMLElement {
  return h(
    "details",
    { className: "as-sent" },
    h("summary", {}, "The prompt as the model reads it", h("span", { className: "quiet" }, ` ${counted(ids.length, "token")}`)),
    turnsView(prompt, { after: "unknown" }),
    tokensView(client, ids, "Token ids of the prompt"),
  );
}
