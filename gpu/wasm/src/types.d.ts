/** A model's file: its bytes, or what gives ranges of them at once (of a `Blob` in a worker: `FileReaderSync`). */
export type ModelSource = Uint8Array | { byteLength: number; read(start: number, end: number): Uint8Array };

export interface LoadOptions {
  /**
   * Where the model runs. "auto": on the GPU; where there is none, or only software that stands for one, on the processor.
   * "gpu" takes software, too, and fails where there is nothing. Default "auto".
   */
  backend?: "auto" | "gpu" | "cpu";
  /** Recent tokens that attention keeps exactly, a multiple of 64. Default 256. */
  band?: number;
  /** Far tokens that it keeps exactly, a multiple of 64. Default 1728: answers are native attention's up to 2048 tokens. */
  store?: number;
  /** How keys and values are kept. Default "f16". */
  kv?: "f16" | "f32";
  /** Keep every token instead of a state of one size; on the GPU up to `capacity` (1024) of them. */
  native?: boolean;
  capacity?: number;
  /** Rows of a draft tree, its root among them, at most: 1 to 64. Default 32. */
  treeRows?: number;
  /** Bytes that the model may take: what needs more is refused before its weights are read. Default: no limit. */
  memory?: number;
}

/** Bytes that a model needs where it runs. */
export interface Needs {
  weights: number;
  /** What the layers remember. */
  layers: number;
  scratch: number;
  rows: number;
  total: number;
}

/** Where a model runs. */
export interface Where {
  backend: "gpu" | "cpu";
  /** The GPU's name, as far as the browser tells; how much of the processor. */
  adapter: string;
  driver?: string;
  /** A processor computes, by itself or in place of a GPU. */
  software: boolean;
  /** Why it is not a GPU. */
  why?: string;
}

/** What `load` tells: "needs" once, before a byte of the weights is read, then "weights" as they are. */
export type LoadProgress =
  | ({ stage: "needs"; needs: Needs; fileBytes: number } & Where)
  | { stage: "weights"; done: number; total: number; tensor: string };

export interface Info extends Where {
  /** The model's own name, if the file has one. */
  name?: string;
  architecture: string;
  layers: number;
  vocabulary: number;
  /** Tokens of the longest context that the model was made for. */
  context: number;
  /** Up to so many tokens answers are those of native attention; absent where all are. */
  exactUntil?: number;
  fileBytes: number;
  weightBytes: number;
  /** Of what the layers remember. */
  stateBytes: number;
  needs: Needs;
  numerics: Numerics;
  /** Nodes of a draft tree that pay on what runs the model, given a map: the default of `generate`. */
  draft: number;
}

/** What decides an answer beside the model: a map belongs to one model and one of these. As `mrail-decode` writes it beside a map. */
export interface Numerics {
  /** "f32" where the bits are those of the processor, whatever runs the model; on a GPU that rounds in its own way, its name, too. */
  arithmetic: string;
  kv: "f16" | "f32";
  memory: "native" | { band: number; store: number; carriers: null };
}

/** What the own map holds. */
export interface MapInfo {
  runs: number;
  /** Of its file as it should be now. */
  bytes: number;
  /**
   * What stood behind the last whole record when it was attached: one torn record, which the next write cuts off and which can
   * be cut off before; or something that may hide good records, and then nothing is written: see `repairMap`.
   */
  tail: "none" | "torn" | "damaged";
  tailBytes: number;
  /** Whole records that cannot be read. */
  problems: number;
}

/**
 * Where the own map's new records go: a file that holds the bytes that were attached. `append` cuts the file to `offset` bytes
 * and writes behind them, in one write. When it returns, they are there; after an error, everything before `offset` still is. What
 * it throws is told in the answer's `faults`, and the map does not have the record.
 */
export interface Journal {
  append(offset: number, bytes: Uint8Array): void;
}

/** What is good in a damaged map. */
export interface Repaired {
  /** A map of the good records. */
  bytes: Uint8Array;
  /** Records that are in it, and those of them that the damage hid. */
  kept: number;
  recovered: number;
  /** Bytes that are not. */
  cutBytes: number;
}

/**
 * What is to be answered: a message of the user, or a conversation, both in the model's own template; or tokens as they are.
 * With `complete` a string is text to go on from.
 */
export type Prompt = string | { role: string; content: string }[] | Uint32Array;

export interface GenerateOptions {
  /** Tokens of the answer at most. Default 256. */
  maxNew?: number;
  /** Nodes of a draft tree; 0 drafts nothing. Default `Info.draft`: 8 on a GPU, 3 on a processor. */
  draft?: number;
  /** Whether the own map answers, drafts and is written to. Default true. */
  useMap?: boolean;
  complete?: boolean;
}

/** What an answer took. Counts are tokens, except where it is said. */
export interface Stats {
  context: number;
  /** Of the answer, known to the own map. */
  served: number;
  /** Of the context: held by an anchored state, still there from before, and read. */
  restored: number;
  kept: number;
  read: number;
  /** Rows that the model evaluated, rejected drafts among them. */
  evaluated: number;
  /** Passes of the model behind the context. */
  passes: number;
  /** Nodes that were drafted, and those of them that were right, by where they came from. */
  drafted: number;
  accepted: { own: number; conversation: number; foreign: number };
  anchors: number;
  /** Whether the answer is a new run of the own map. */
  written: boolean;
  /** Anchors that could not be used or written, and why an answer is not in the map. */
  faults: string[];
}

/** A piece of an answer, all of one origin. */
export interface Chunk {
  /** Whole characters: what a token begins and does not end comes with the token that ends it. */
  text: string;
  tokens: Uint32Array;
  /**
   * Where the tokens come from: the own map knew them, they were drafted and are the model's own choice, or the model chose
   * them and nobody had drafted them. "context": there are none yet, the context is being read.
   */
  origin: "map" | "draft" | "model" | "context";
  /** Who drafted them. */
  source?: "own" | "conversation" | "foreign";
  /** How far the context is read. */
  read?: { tokens: number; of: number };
  stats: Stats;
}

/**
 * What is thrown, and what promises are rejected with. Stable kinds:
 *
 * - "invalid-argument": an argument of the wrong type or value; a token that the model does not have
 * - "not-a-model", "unsupported": bytes that are no GGUF file, or whose model, tokenizer or pre-tokenizer is not known
 * - "read": the source does not give the bytes that it should
 * - "memory": the model does not fit; the message says the numbers
 * - "no-gpu", "gpu-lost", "gpu": there is none, it went away, it failed
 * - "not-a-map", "wrong-map": bytes that are no map, or one with tokens that the model does not have
 * - "map": the answer could not be kept in the map
 * - "text": a text that has no tokens, a conversation that the template refuses
 * - "too-long": more tokens than there is room for
 * - "busy": an answer is under way
 * - "disposed": the runner was disposed of
 * - "internal": a fault in this package
 */
export interface MrailGpuError extends Error {
  name: "MrailGpuError";
  kind:
    | "invalid-argument" | "not-a-model" | "unsupported" | "read" | "memory" | "no-gpu" | "gpu-lost" | "gpu" | "not-a-map"
    | "wrong-map" | "map" | "text" | "too-long" | "busy" | "disposed" | "internal";
}

/** A loaded model beside its maps. One answer at a time. */
export class Runner {
  private constructor();
  free(): void;
  [Symbol.dispose](): void;

  /**
   * Loads a model from a GGUF file. The file stays JavaScript's: ranges of it are copied while weights are loaded, and it is
   * not needed afterwards. What `progress` throws ends the loading and is what the promise is rejected with.
   */
  static load(source: ModelSource, options?: LoadOptions, progress?: (progress: LoadProgress) => void): Promise<Runner>;

  info(): Info;
  /**
   * A trusted map becomes the own one, in place of the one before: it answers, drafts and takes the answers. It must be this
   * model's: that is the caller's word. Other maps only draft; any number may be attached. The bytes are copied. What the own map
   * takes in is written to the journal first, if there is one.
   */
  attach(map: Uint8Array, trusted: boolean, journal?: Journal): void;
  /** Leaves all maps behind, with an empty own one. */
  detach(): void;
  /** The own map's file as it should be now, with all answers. */
  mapBytes(): Uint8Array;
  mapInfo(): MapInfo;

  encode(prompt: Prompt, options?: { complete?: boolean }): Uint32Array;
  /** Text of tokens; special ones are written by their names. */
  decode(tokens: Uint32Array): string;

  /** Begins to answer. Nothing is computed until the turn is asked for its first chunk. Throws "busy" while a turn runs. */
  generate(prompt: Prompt, options?: GenerateOptions): Turn;
  /** Ends the turn that runs, if one does; settles when the model is free. */
  abort(): Promise<void>;
  /** Frees the device and its memory, at once; settles when nothing runs any more. */
  dispose(): Promise<void>;
}

/** An answer on its way. The runner is busy until it has ended, was aborted or is freed. */
export class Turn {
  private constructor();
  free(): void;
  [Symbol.dispose](): void;

  /**
   * The next chunk, or undefined: the answer has ended, or was aborted. On the processor it is computed before the promise
   * settles, without a pause: whoever wants to hear messages in between gives way to them.
   */
  next(): Promise<Chunk | undefined>;
  /** Ends the answer; what was said stays in the own map. Settles when the model is free. */
  abort(): Promise<void>;
  /** What it took so far. */
  readonly stats: Stats;
  /** Why it ended: with a stop token, with `maxNew`, with no room for more, or "open": it was aborted. */
  readonly end: "stop" | "maxNew" | "full" | "open" | undefined;
}

/**
 * The hash of a file, taken in piece by piece: BLAKE2b of 16 bytes, as `mrail-decode` writes it beside a map. With
 * `Info.numerics` it says whose answers a map holds.
 */
export class Digest {
  constructor();
  free(): void;
  [Symbol.dispose](): void;

  update(piece: Uint8Array): void;
  /** Of what was taken in so far, in lower case. */
  hex(): string;
}

/** Looks for the good records of a damaged map, also behind the damage. Throws "not-a-map" where the file's beginning is none. */
export function repairMap(map: Uint8Array): Repaired;
/** The file of a tiny model of random numbers, for tests. Takes any text; what it says means nothing. */
export function seededModel(seed?: number): Uint8Array;
/** Bytes of the module's memory. */
export function memoryBytes(): number;
/** Version of this package. */
export function version(): string;
