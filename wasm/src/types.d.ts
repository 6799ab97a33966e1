/**
 * How a map is opened.
 *
 * `trusted` has no default on purpose: a map answers in place of a model, so whoever opens one says whether its runs are
 * that model's own. A map that is not trusted is draft-only: it is read in full and drafts, but it never answers, none of
 * its anchors is located, and nothing can be appended to it.
 *
 * Numbers, here and everywhere, are whole and from 0 to 2^53 - 1; anything else throws kind "invalid-argument".
 */
export interface OpenOptions {
  trusted: boolean;
  /** Prompt positions are indexed only at multiples of `stride` (FORMAT: stride). Default 1. */
  stride?: number;
  /** Load only the first `limit` runs of the map: the others have no number. Default: all. */
  limit?: number;
  /** Longest n-gram of the draft rail, 1 to 16. Default 6. */
  nmax?: number;
  /** Put prompts on the draft rail, not only answers. Default true. */
  railPrompts?: boolean;
  /** Let the middle of a track's answer be found (FORMAT: through a track). Default true. */
  throughTracks?: boolean;
  /** Other maps that draft but never answer; of each its first `limit` runs. Their sessions come first in the numbering. */
  foreign?: { bytes: Uint8Array; limit?: number }[];
}

/** What a map holds. Sizes are bytes of whole records, headers included. */
export interface MapInfo {
  /** Bytes given when it was opened. */
  byteLength: number;
  /** Bytes up to the end of the last whole record: where the next record goes. */
  validLength: number;
  /**
   * What lies behind `validLength`: nothing, one torn record (an append's `offset` cuts it), or damage: then appending throws
   * until the file was repaired.
   */
  tail: "none" | "torn" | "damaged";
  /** Runs by number: sessions and tracks, those of foreign maps included. */
  runs: number;
  /** Runs of foreign maps: numbers 0 up to this. */
  foreignRuns: number;
  sessions: number;
  tracks: number;
  /** Tokens of all sessions. */
  tokens: number;
  /** Tokens that the model itself answered. */
  answerTokens: number;
  /** Anchored states that are stored whole, and those that are stored as changes to another. */
  anchors: number;
  anchorDeltas: number;
  /** Prefixes with a use count, and the sum of the counts (may exceed 2^32). */
  useHashes: number;
  uses: number;
  /** The file's records and their bytes by kind; `kind` is the number in the file, `name` its name or "unknown". */
  kinds: { kind: number; name: string; records: number; bytes: number }[];
  /** Records that were skipped since they cannot be read. */
  problems: number;
}

/** One run: a session (its tokens are in the map) or a track (its long context lives elsewhere). */
export interface RunInfo {
  /** Number in order of loading, shared by sessions and tracks; foreign runs come first. */
  run: number;
  kind: "session" | "track";
  /** Whether it only drafts: it is of a foreign map, or of a map opened with `trusted: false`. */
  foreign: boolean;
  /** Tokens given to the model: the session's prompt (all tokens of a foreign map's), or the length of the track's context. */
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
  /** Why the record was skipped, if it was. Kept for the first 1000 such records. */
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
  /** Run that answers the whole context, if there is one. Sessions are compared token by token; tracks rest on a 64-bit hash. */
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

/**
 * Bytes to write, and where. The file must first be cut to `offset` (it may have a torn tail), then `bytes` go there in one
 * write. A file has one writer at a time.
 */
export interface Write {
  offset: number;
  bytes: Uint8Array;
  /** Number of the run that was added, where one was. */
  run?: number;
}

/**
 * Every error thrown by this package. `kind` is stable, `message` is for people and names the place.
 *
 * - "not-a-map": the bytes are something else, a web page perhaps, or another version's map
 * - "damaged": nothing can be appended before the file was repaired
 * - "too-large": it does not fit into memory, or into the format
 * - "invalid-argument": the call is wrong, whatever the map
 * - "wrong-context": a track was asked with another context than its own
 * - "track": the run is no track
 * - "anchor": a state cannot be stored
 *
 * Using a map after `free()` throws too, a plain Error. Running out of memory inside the wasm module is a
 * `WebAssembly.RuntimeError`; the module is of no use after it.
 */
export interface MrailError extends Error {
  name: "MrailError";
  kind: "not-a-map" | "damaged" | "too-large" | "invalid-argument" | "wrong-context" | "anchor" | "track";
  /** Byte offset in the file, where the error has one. */
  offset?: number;
}

/** An open map. Holds its bytes in wasm memory until `free()`; everything returned is a copy, and plain data. */
export class MrailMap {
  private constructor();
  free(): void;
  [Symbol.dispose](): void;

  /** Opens a map from its bytes (copied). Bytes that are no map at all throw; a torn tail or bad records do not. */
  static open(bytes: Uint8Array, options: OpenOptions): MrailMap;
  /** A new map without records. Its file starts as its `bytes()`; what appends return goes behind them. */
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
  /** The first session at or after run `start` whose tokens contain `needle`; undefined when there is none. */
  findTokens(needle: Uint32Array, start: number): number | undefined;

  locate(context: Uint32Array): Located;
  /**
   * What the model answered to exactly this context, or undefined: the map does not know it. At most `maxNew` tokens (and
   * never more than 2^24), ending with the first of `stop`.
   */
  exactAnswer(context: Uint32Array, maxNew: number, stop: Uint32Array): Answer | undefined;
  /** Decodes a track's whole answer against its context; throws kind "wrong-context" when `context` is another. */
  trackAnswer(run: number, context: Uint32Array): Uint32Array;
  /** The `budget` most promising nodes that may follow `context`. The first call builds the draft rail. */
  draftTree(context: Uint32Array, budget: number): DraftTree;
  /**
   * Lets the answers of all tracks whose contexts are a prefix of `context` draft too: up to `limit` (65536) tokens of each,
   * once, and of all together at most 16 times as many. Returns how many were new. One hash a token of the longest such context.
   */
  learnTracks(context: Uint32Array, limit?: number): number;

  /** Adds a session to the open map and returns what to write. Throws, and changes nothing, when it cannot be. */
  appendSession(tokens: Uint32Array, genStart: number): Write;
  /**
   * Adds a track: an answer, stored as copies from a context that is not stored but lives at `source`. Copies have at least
   * `minCopy` (4) tokens.
   */
  appendTrack(context: Uint32Array, answer: Uint32Array, source: string, minCopy?: number): Write;
  /** Counts `hits` uses of a prefix, at most 2^32 - 1 at once. */
  appendUse(context: Uint32Array, hits: number): Write;
  /** The map's bytes as they should be on disk now: the valid part and everything appended. */
  bytes(): Uint8Array;
}

/** Prefix hash of a context, 16 hexadecimal digits. */
export function prefixHash(context: Uint32Array): string;
/** Version of this package. */
export function version(): string;
