import type { MrailMap, RunInfo } from "mrail";
import { FailureError } from "../failure.ts";
import { formatCount } from "../format.ts";
import type { Ending, RunRow, RunView, Suggestion, TokenText } from "../protocol.ts";
import { textOf } from "../text/stream.ts";
import type { Message } from "../text/template.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import { conversation, turns } from "../text/turns.ts";
import type { Vocabulary } from "../text/vocabulary.ts";

/** A title is looked for in this many tokens before the answer: a context may be as long as a book. */
const TITLE_WINDOW = 1500;
const TITLE_LENGTH = 160;

export function row(map: MrailMap, run: number, tokenizer: Tokenizer): RunRow {
  const info = known(map, run);
  const found = map.runTokens(run);
  const title = found === undefined ? info.source : titleOf(found.tokens.subarray(0, found.genStart), tokenizer.vocabulary);
  return {
    run,
    kind: info.kind,
    title: title === "" ? "(no text)" : title,
    contextLength: info.contextLength,
    answerLength: info.answerLength,
    ending: ending(info, found?.tokens, tokenizer),
    uses: info.uses,
  };
}

/** What was asked last, or how the context begins where it is no conversation. */
function titleOf(context: Uint32Array, vocabulary: Vocabulary): string {
  const asked = turns(context.subarray(-TITLE_WINDOW), context.length, vocabulary).findLast(({ role }) => role === "user");
  const text =
    asked?.pieces.map(({ kind, text: piece }) => (kind === "text" ? piece : " ")).join("") ?? textOf(context.subarray(0, 80), vocabulary);
  return text.replace(/\s+/g, " ").trim().slice(0, TITLE_LENGTH);
}

function ending({ kind, answerLength }: RunInfo, tokens: Uint32Array | undefined, { stop }: Tokenizer): Ending {
  if (kind === "track" || tokens === undefined) return "elsewhere";
  if (answerLength === 0) return "none";
  return stop.includes(tokens.at(-1) ?? -1) ? "stop" : "cut";
}

export function view(map: MrailMap, run: number, tokenizer: Tokenizer): RunView {
  const info = known(map, run);
  const found = map.runTokens(run);
  if (found === undefined) return { info, ending: "elsewhere", turns: [] };
  const { tokens, genStart } = found;
  const messages = asked(tokens.subarray(0, genStart), tokenizer);
  return {
    info,
    ending: ending(info, tokens, tokenizer),
    tokens,
    turns: turns(tokens, genStart, tokenizer.vocabulary),
    ...(messages ? { messages } : {}),
  };
}

/** The conversation that gives exactly these tokens, so that asking it finds this run; undefined when there is none. */
function asked(context: Uint32Array, tokenizer: Tokenizer): Message[] | undefined {
  const { vocabulary, template } = tokenizer;
  const messages = conversation(turns(context, context.length, vocabulary));
  if (messages === undefined) return undefined;
  const again = tokenizer.encode(template.render(messages));
  if (again.length !== context.length || !again.every((id, i) => id === context[i])) return undefined;
  // The template adds its own system message by itself.
  return messages[0]?.role === "system" && messages[0].content === template.defaultSystem ? messages.slice(1) : messages;
}

/** Prompts that the map answers, taken from its runs at random. */
export function suggest(map: MrailMap, count: number, tokenizer: Tokenizer, random: () => number = Math.random): Suggestion[] {
  const { runs } = map.info();
  const found = new Map<string, Suggestion>();
  for (let tries = 0; tries < 12 * count && found.size < Math.min(count, runs); tries++) {
    const run = Math.min(Math.floor(random() * runs), runs - 1);
    const info = map.run(run);
    if (info?.kind !== "session" || info.answerLength === 0 || info.contextLength > TITLE_WINDOW) continue;
    const tokens = map.runTokens(run);
    const messages = tokens && asked(tokens.tokens.subarray(0, tokens.genStart), tokenizer);
    const question = messages?.at(-1)?.content ?? "";
    if (messages && question.length > 0 && question.length <= TITLE_LENGTH) found.set(question, { run, messages });
  }
  return [...found.values()];
}

/** Each token by itself, to look at. */
export function tokenTexts(ids: Uint32Array, vocabulary: Vocabulary): TokenText[] {
  return Array.from(ids, (id) => ({ id, text: tokenText(id, vocabulary) }));
}

export function tokenText(id: number, vocabulary: Vocabulary): string {
  const token = vocabulary.token(id);
  if (token.kind === "special") return token.name;
  if (token.kind === "outside") return `(not in the vocabulary)`;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(token.bytes);
  } catch {
    return Array.from(token.bytes, (byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
  }
}

function known(map: MrailMap, run: number): RunInfo {
  const info = map.run(run);
  if (info === undefined) throw new FailureError({ kind: "no-run", message: `This map has no run ${formatCount(run)}.` });
  return info;
}
