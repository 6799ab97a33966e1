import type { Chunk, GenerateOptions, Info, LoadOptions, LoadProgress, Prompt, Stats, Turn } from "mrail-gpu";

/** Bytes, or where they come from. The name is for people. */
export type FileSource = { name: string; bytes: Uint8Array } | { name: string; file: Blob } | { name: string; url: string };

export interface Loaded extends Info {
  /** The file's name. */
  file: string;
  /** Whether a fetched file came from this browser's cache, is in it now, or could not be put there. */
  cache?: "hit" | "stored" | "none";
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
  attach(source: FileSource, trusted: boolean): void;
  detach(): void;
  mapBytes(): Uint8Array;
  /** Chunks are its progress. Cancelled, it ends after the step that is under way. */
  generate(prompt: Prompt, options: GenerateOptions): Answered;
  dispose(): void;
}

export type ModelProgress =
  | { stage: "download"; done: number; total?: number }
  | LoadProgress
  | { stage: "answer"; chunk: Chunk };
