/**
 * How a map is opened.
 *
 * `trusted` has no default on purpose: a map answers in place of a model, so whoever opens one says whether its runs are
 * that model's own. A map that is not trusted is draft-only: it proposes, it never answers.
 */
export interface OpenOptions {
  trusted: boolean;
  /** Prompt positions are indexed only at multiples of `stride` (FORMAT: stride). Default 1. */
  stride?: number;
  /** Index only the first `limit` runs of the map. Default: all. */
  limit?: number;
  /** Longest n-gram of the draft rail. Default 6. */
  nmax?: number;
  /** Put prompts on the draft rail, not only answers. Default true. */
  railPrompts?: boolean;
  /** Let the middle of a track's answer be found (FORMAT: through a track). Default true. */
  throughTracks?: boolean;
  /** Other maps that draft but never answer. */
  foreign?: { bytes: Uint8Array; limit?: number }[];
}

/** What a map holds. Sizes are bytes of whole records, headers included. */
export interface MapInfo {
  /** Bytes given. */
  byteLength: number;
  /** Bytes up to the end of the last whole record: where the next record goes. */
  validLength: number;
  /** What lies behind `validLength`: nothing, one torn record (cut by itself before an append), or damage that needs `repair`. */
  tail: "none" | "torn" | "damaged";
  runs: number;
  sessions: number;
  tracks: number;
  /** Tokens of all sessions. */
  tokens: number;
  /** Tokens that the model itself answered. */
  answerTokens: number;
  anchors: number;
  anchorDeltas: number;
  /** Hashes with a use count, and the sum of the counts (may exceed 2^32, hence a double). */
  useHashes: number;
  uses: number;
  /** Records and bytes by kind; `kind` is the number in the file, `name` its name or "unknown". */
  kinds: { kind: number; name: string; records: number; bytes: number }[];
  /** Records that were skipped since they cannot be read. */
  problems: number;
}

/** One run: a session (its tokens are in the map) or a track (its long context lives elsewhere). */
export interface RunInfo {
  /** Number in order of loading, shared by sessions and tracks; foreign runs come first. */
  run: number;
  kind: "session" | "track";
  foreign: boolean;
  /** Tokens given to the model: the session's prompt, or the length of the track's context. */
  contextLength: number;
  /** Tokens answered by the model. */
  answerLength: number;
  /** Where the run's record starts in its file. */
  offset: number;
  /** A track's source, as written by whoever added it; empty for sessions. */
  source: string;
  /** How often the run's context was used (USE records), 0 if never counted. */
  uses: number;
}

/** One session whole. `tokens.subarray(0, genStart)` is the context, the rest the answer. Copies: safe to keep. */
export interface RunTokens {
  tokens: Uint32Array;
  genStart: number;
}

/** One record of the file, in file order. */
export interface RecordInfo {
  offset: number;
  /** Bytes with the 5-byte header. */
  byteLength: number;
  kind: number;
  name: string;
  /** Why the record was skipped, if it was. */
  problem?: string;
}

/** One anchored state, without its arrays. */
export interface AnchorInfo {
  /** Prefix hash, 16 hexadecimal digits. */
  hash: string;
  /** Tokens in the prefix. */
  position: number;
  /** Parent's hash for a delta. */
  parent?: string;
  byteLength: number;
  offset: number;
}

export interface Located {
  /** Longest known prefix of the context, in tokens (as indexed: with a stride, prompt positions are rounded down). */
  lcp: number;
  /** Longest prefix shared with any run, whatever the stride. */
  shared: number;
  /** Run that answers the whole context, if there is one. */
  run?: number;
  /** Nearest anchored state at or before the known prefix. */
  anchor?: { hash: string; position: number };
}

export interface Answer {
  tokens: Uint32Array;
  /** Why it ends: a stop token, the end of the run (not the whole answer: go on decoding), or `maxNew`. */
  end: "stop" | "run" | "maxNew";
  run: number;
}

/** A draft tree in best-first order. `parents[i]` is an index into `tokens`, or -1 for a child of the root. */
export interface DraftTree {
  tokens: Uint32Array;
  parents: Int32Array;
}

/** Bytes to write, and where. The file must first be cut to `offset` (it may have a torn tail). */
export interface Write {
  offset: number;
  bytes: Uint8Array;
  /** Number of the run that was added, where one was. */
  run?: number;
}

/** Every error thrown by this package. `kind` is stable, `message` is for people and names the place. */
export interface MrailError extends Error {
  name: "MrailError";
  kind: "not-a-map" | "damaged" | "too-large" | "invalid-argument" | "wrong-context" | "anchor" | "track";
  /** Byte offset in the file, where the error has one. */
  offset?: number;
}

/** An open map. Holds its bytes in wasm memory until `free()`; everything returned is a copy. */
export class MrailMap {
  private constructor();
  free(): void;
  [Symbol.dispose](): void;

  /** Opens a map from its bytes (copied). Bytes that are no map at all throw; a torn tail or bad records do not. */
  static open(bytes: Uint8Array, options: OpenOptions): MrailMap;
  /** A new map without records. */
  static create(): MrailMap;
  /** One map with the runs, tracks and use counts of all, equal runs once; anchors are left out (one exact model state each). */
  static merge(maps: Uint8Array[]): Uint8Array;

  info(): MapInfo;
  /** `count` runs from number `start` on, fewer at the end. */
  runs(start: number, count: number): RunInfo[];
  run(run: number): RunInfo | undefined;
  /** Tokens of a session; undefined for a track (its context is elsewhere) or an unknown number. */
  runTokens(run: number): RunTokens | undefined;
  records(start: number, count: number): RecordInfo[];
  anchors(start: number, count: number): AnchorInfo[];
  /** The first run at or after `start` whose tokens contain `needle`; undefined when there is none. */
  findTokens(needle: Uint32Array, start: number): number | undefined;

  locate(context: Uint32Array): Located;
  /** What the model answered to exactly this context, or undefined: the map does not know it. */
  exactAnswer(context: Uint32Array, maxNew: number, stop: Uint32Array): Answer | undefined;
  /** Decodes a track's whole answer against its context; throws kind "wrong-context" when `context` is another. */
  trackAnswer(run: number, context: Uint32Array): Uint32Array;
  draftTree(context: Uint32Array, budget: number): DraftTree;

  /** Adds a session to the open map and returns what to write. Throws, and changes nothing, when it cannot be. */
  appendSession(tokens: Uint32Array, genStart: number): Write;
  appendTrack(context: Uint32Array, answer: Uint32Array, source: string, minCopy?: number): Write;
  /** Counts `hits` uses of a prefix. */
  appendUse(context: Uint32Array, hits: number): Write;
  /** The map's bytes as they should be on disk now: the valid part and everything appended. */
  bytes(): Uint8Array;
}

/** Prefix hash of a context, 16 hexadecimal digits. */
export function prefixHash(context: Uint32Array): string;
/** Version of this package. */
export function version(): string;
