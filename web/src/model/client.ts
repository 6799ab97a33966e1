import type { Chunk, GenerateOptions, LoadOptions, Prompt } from "mrail-gpu";
import { Client, type WorkerLike } from "../client.ts";
import { asFailure, FailureError, type Failure } from "../failure.ts";
import type { Answered, FileSource, Loaded, ModelApi, ModelProgress, OwnState } from "./protocol.ts";

export type { Answered, FileSource, Loaded, ModelProgress, OwnState } from "./protocol.ts";

/** Bytes, a file, or an address as seen from the page. */
export type Given = Uint8Array | Blob | string;

const GONE: Failure = {
  kind: "crashed",
  message: "The model's worker is not running.",
  advice: "Load the model again. If that does not help, reload the page.",
};

/**
 * A model in a worker of its own, with its map, which the browser keeps if it can. One answer at a time: a second one while one
 * runs fails as "busy". Every promise settles; errors are `FailureError`s with a `failure.kind`.
 */
export class Model {
  readonly #client: Client<ModelApi, ModelProgress>;
  readonly #base: string;
  #answering: AbortController | undefined;

  constructor(make: () => WorkerLike<ModelApi, ModelProgress>, base = document.baseURI) {
    this.#base = base;
    this.#client = new Client<ModelApi, ModelProgress>(make, base, GONE);
  }

  /** Told when the worker died. */
  set died(died: (failure: Failure) => void) {
    this.#client.died = died;
  }

  /** Loads a model, in place of the one before. */
  load(model: Given, { progress, signal, ...options }: LoadOptions & { progress?: (progress: ModelProgress) => void; signal?: AbortSignal } = {}): Promise<Loaded> {
    const source = this.#source(model);
    return this.#client.call("load", [source, options], { ...(signal && { signal }), ...(progress && { onProgress: progress }) });
  }

  /** A trusted map becomes the own one: it answers, and takes the answers. Others only draft. */
  attach(map: Given, trusted: boolean): Promise<OwnState> {
    return this.#client.call("attach", [this.#source(map), trusted]);
  }

  /** Leaves all attached maps. The own one stays; where a trusted one took its place, what the browser keeps is back. */
  detach(): Promise<OwnState> {
    return this.#client.call("detach", []);
  }

  /** Where the own map is, and what it holds; not while an answer is made. */
  own(): Promise<OwnState> {
    return this.#client.call("own", []);
  }

  /** The own map's file, with all answers; or a damaged one that was set aside. */
  mapBytes(aside?: string): Promise<Uint8Array> {
    return this.#client.call("mapBytes", aside === undefined ? [] : [aside]);
  }

  /** Removes what the browser keeps for this model. */
  forget(): Promise<OwnState> {
    return this.#client.call("forget", []);
  }

  /**
   * The answer as it is made; it is what the generator returns how it ended. Leaving the loop ends the answer. It begins when it
   * is first asked for a chunk.
   */
  async *generate(prompt: Prompt, options: GenerateOptions = {}): AsyncGenerator<Chunk, Answered | undefined, undefined> {
    const abort = new AbortController();
    const ready: Chunk[] = [];
    let tell = (): void => {};
    const onProgress = (progress: ModelProgress): void => {
      if (progress.stage === "answer") ready.push(progress.chunk);
      tell();
    };
    // A second one is refused by the worker, and must not take the first one's place here.
    const first = this.#answering === undefined;
    if (first) this.#answering = abort;
    let done: { answered: Answered } | { failure: unknown } | undefined;
    this.#client
      .call("generate", [prompt, options], { signal: abort.signal, onProgress })
      .then(
        (answered) => (done = { answered }),
        (failure: unknown) => (done = { failure }),
      )
      .finally(() => tell());
    try {
      for (;;) {
        for (let chunk = ready.shift(); chunk !== undefined; chunk = ready.shift()) yield chunk;
        if (done !== undefined) {
          if ("answered" in done) return done.answered;
          if (asFailure(done.failure).kind === "cancelled") return undefined;
          throw done.failure;
        }
        await new Promise<void>((resolve) => (tell = resolve));
      }
    } finally {
      if (first) this.#answering = undefined;
      abort.abort();
    }
  }

  /** Ends the answer that is under way. */
  abort(): void {
    this.#answering?.abort();
  }

  /** Frees the device and everything else. The next `load` starts anew. */
  async dispose(): Promise<void> {
    this.abort();
    if (!this.#client.alive) return;
    try {
      await this.#client.call("dispose", []);
    } finally {
      this.#client.close();
    }
  }

  /** The same at once, whatever is under way: for a page that goes, whose worker may be frozen before it hears of anything. */
  close(): void {
    this.#client.close();
  }

  #source(given: Given): FileSource {
    if (given instanceof Uint8Array) return { name: "the bytes", bytes: given };
    if (given instanceof Blob) return { name: given instanceof File ? given.name : "the file", file: given };
    try {
      const url = new URL(given, this.#base);
      return { name: decodeURIComponent(url.pathname.split("/").at(-1) || url.host), url: url.href };
    } catch {
      throw new FailureError({ kind: "address", message: `“${given}” is no address.`, advice: "Give the whole address of the file." });
    }
  }
}
