import type { Chunk, GenerateOptions, Info, LoadOptions, LoadProgress, Prompt, Stats, Turn } from "mrail-gpu";
import type { Aside } from "./own-file.ts";

/** Bytes, or where they come from. The name is for people. */
export type FileSource = { name: string; bytes: Uint8Array } | { name: string; file: Blob } | { name: string; url: string };

/** The model's own map, and where it is. */
export interface OwnState {
  runs: number;
  bytes: number;
  /** Whether this browser keeps it, with what is added. */
  kept: boolean;
  /** If not, why. */
  why?: string;
  /** Whether `forget` has something to remove from this browser. */
  forgettable: boolean;
  /** What was found and done when it was opened. */
  notes: string[];
  /** Damaged files: those beside the map's, and its own where nothing could be put in its place. */
  aside: Aside[];
}

export interface Loaded extends Info {
  /** The file's name. */
  file: string;
  /** Whether a fetched file came from this browser's cache, is in it now, or could not be put there. */
  cache?: "hit" | "stored" | "none";
  own: OwnState;
}

/** How an answer ended, and what it took. */
export interface Answered {
  end: Turn["end"];
  stats: Stats;
  /** From the request to the last token. */
  milliseconds: number;
}

/** What the model's worker does. A map that is fetched or read is attached as `trusted` says. */
export interface ModelApi {
  load(source: FileSource, options: LoadOptions): Loaded;
  attach(source: FileSource, trusted: boolean): OwnState;
  /** Leaves all attached maps. The own one stays; where a trusted one took its place, what is kept is back. */
  detach(): OwnState;
  own(): OwnState;
  /** The own map's file, or one that was set aside. */
  mapBytes(aside?: string): Uint8Array;
  /** Removes what is kept for this model, and what was set aside. */
  forget(): OwnState;
  /** Chunks are its progress. Cancelled, it ends after the step that is under way. */
  generate(prompt: Prompt, options: GenerateOptions): Answered;
  dispose(): void;
}

export type ModelProgress =
  | { stage: "download"; done: number; total?: number }
  | LoadProgress
  /** The file is hashed: its map is named after it. */
  | { stage: "identity"; done: number; total: number }
  | { stage: "answer"; chunk: Chunk };
