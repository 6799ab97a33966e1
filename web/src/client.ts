import { FailureError, type Failure } from "./failure.ts";
import type { Args, Method, Progress, ToPage, ToWorker, Value } from "./protocol.ts";

/** The part of a Worker that is used; tests put their own in its place. */
export interface WorkerLike {
  postMessage(message: ToWorker): void;
  terminate(): void;
  onmessage: ((event: { data: ToPage }) => void) | null;
  onerror: ((event: { message?: string; preventDefault?(): void }) => void) | null;
  onmessageerror: ((event: unknown) => void) | null;
}

export interface CallOptions {
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => void;
}

interface Pending {
  resolve(value: unknown): void;
  reject(error: FailureError): void;
  onProgress: ((progress: Progress) => void) | undefined;
}

const GONE: Failure = {
  kind: "crashed",
  message: "The map reader is not running.",
  advice: "Open the map again. If that does not help, reload the page.",
};

/**
 * The page's end of the worker. Every promise settles: with the value, with a failure from the worker, with
 * "cancelled" at once when its signal fires, and all of them when the worker dies. The next call starts a new worker.
 */
export class Client {
  readonly #make: () => WorkerLike;
  readonly #base: string;
  readonly #pending = new Map<number, Pending>();
  /** Told when a worker died, whether or not a call was waiting. */
  died: ((failure: Failure) => void) | undefined;
  #worker: WorkerLike | undefined;
  #next = 1;

  constructor(make: () => WorkerLike, base: string) {
    this.#make = make;
    this.#base = base;
  }

  call<M extends Method>(method: M, args: Args<M>, { signal, onProgress }: CallOptions = {}): Promise<Value<M>> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(cancelled());
      const id = this.#next++;
      const stop = (): void => {
        // Nobody waits for the worker to notice.
        if (this.#settle(id)) reject(cancelled());
        this.#worker?.postMessage({ cancel: id });
      };
      const settled = (): void => signal?.removeEventListener("abort", stop);
      signal?.addEventListener("abort", stop);
      this.#pending.set(id, {
        resolve: (value) => (settled(), resolve(value as Value<M>)),
        reject: (error) => (settled(), reject(error)),
        onProgress,
      });
      try {
        this.#running().postMessage({ id, method, args } as ToWorker);
      } catch (error) {
        // The worker could not be made, or an argument cannot be sent.
        this.#settle(id)?.reject(new FailureError({ ...GONE, message: `${GONE.message} ${String(error)}` }));
      }
    });
  }

  #running(): WorkerLike {
    if (this.#worker !== undefined) return this.#worker;
    const worker = this.#make();
    worker.onmessage = ({ data }) => this.#receive(worker, data);
    worker.onerror = (event) => {
      event.preventDefault?.();
      this.#die(worker, event.message ? { ...GONE, message: `The map reader stopped: ${event.message}` } : GONE);
    };
    worker.onmessageerror = () => this.#die(worker, GONE);
    this.#worker = worker;
    worker.postMessage({ start: { base: this.#base } });
    return worker;
  }

  #receive(worker: WorkerLike, reply: ToPage): void {
    if (worker !== this.#worker) return;
    if ("progress" in reply) return this.#pending.get(reply.id)?.onProgress?.(reply.progress);
    const pending = this.#settle(reply.id);
    if ("value" in reply) return pending?.resolve(reply.value);
    pending?.reject(new FailureError(reply.failure));
    // After a trap the module cannot be trusted: the others fail now instead of never.
    if (reply.failure.kind === "crashed") this.#die(worker, reply.failure);
  }

  #die(worker: WorkerLike, failure: Failure): void {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    worker.terminate();
    for (const id of [...this.#pending.keys()]) this.#settle(id)?.reject(new FailureError(failure));
    this.died?.(failure);
  }

  #settle(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending;
  }
}

function cancelled(): FailureError {
  return new FailureError({ kind: "cancelled", message: "Cancelled." });
}
