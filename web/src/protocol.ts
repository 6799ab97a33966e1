import type { MapInfo, RunInfo } from "mrail";
import type { Failure } from "./failure.ts";
import type { Measured } from "./worker/measure.ts";
import type { Message } from "./text/template.ts";
import type { Turn } from "./text/turns.ts";

/** Where a map comes from. The name is for people. */
export type Source = { name: string; file: Blob } | { name: string; url: string };

/** An open map, as the page needs to know it. */
export interface Opened {
  name: string;
  trusted: boolean;
  info: MapInfo;
  /** Records that were skipped, with the reason; the first few. */
  problems: { offset: number; name: string; problem: string }[];
  /** Name of the model whose tokenizer turns tokens into text here. */
  tokenizer: string;
}

/** How a run's answer ends: with a stop token, cut, or there is none. A track's tokens are not in the map: not known. */
export type Ending = "stop" | "cut" | "none" | "elsewhere";

/** One line of the list of runs. */
export interface RunRow {
  run: number;
  kind: RunInfo["kind"];
  title: string;
  contextLength: number;
  answerLength: number;
  ending: Ending;
  uses: number;
}

/** One run whole. */
export interface RunView {
  info: RunInfo;
  ending: Ending;
  /** No tokens for a track: its context lies elsewhere. */
  tokens?: Uint32Array;
  turns: Turn[];
  /** The question as a conversation, where it is one. */
  messages?: Message[];
}

/** A token with its text: bytes that are no whole character are written as hexadecimal. */
export interface TokenText {
  id: number;
  text: string;
}

/** A node of a draft tree, in best-first order. */
export interface DraftNode {
  text: string;
  parent: number;
}

export interface Asked {
  /** The prompt as the model reads it; what lies after the boundary is not known to the map. */
  prompt: Turn[];
  ids: Uint32Array;
  /** Tokens of the prompt that some run shares with it, from the start on. */
  shared: number;
  answer?: {
    turns: Turn[];
    text: string;
    tokens: number;
    end: "stop" | "run" | "maxNew";
    run: number;
    time: Measured;
  };
  /** Why there is no answer: the map does not know the prompt, or knows it but is not trusted. */
  refused?: "unknown" | "foreign";
  /** Where the prompt would go on, as drafts for a model to check. Empty when there is an answer. */
  draft: DraftNode[];
  tokenizing: Measured;
}

export interface Suggestion {
  run: number;
  messages: Message[];
}

export interface SearchResult {
  searched: number;
  found: number;
}

/** How far a call has come. `total` is absent where nobody knows it. */
export interface Progress {
  done: number;
  total?: number;
  /** Runs found since the last report. */
  found?: Uint32Array;
}

/** What the worker does. Every call is answered once, with a value or a failure. */
export interface Api {
  open(source: Source, trusted: boolean): Opened;
  /** Opens the same map again under another declaration. */
  declare(trusted: boolean): Opened;
  rows(runs: Uint32Array): RunRow[];
  run(run: number): RunView;
  tokens(ids: Uint32Array): TokenText[];
  search(query: string): SearchResult;
  ask(messages: Message[]): Asked;
  suggest(count: number): Suggestion[];
}

/** What a worker does: calls by name. */
export type Calls<A> = { [M in keyof A]: (...args: never[]) => unknown };

/** Page to worker. `start` comes first and says where the page's files lie. */
export type Request<A extends Calls<A>> =
  | { start: { base: string } }
  | { [M in keyof A]: { id: number; method: M; args: Parameters<A[M]> } }[keyof A]
  | { cancel: number };

/** Worker to page: any number of `progress`, then exactly one `value` or `failure`. */
export type Reply<P> = { id: number } & ({ value: unknown } | { failure: Failure } | { progress: P });

export type Method = keyof Api;
export type ToWorker = Request<Api>;
export type ToPage = Reply<Progress>;
