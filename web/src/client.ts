import { FailureError, type Failure } from "./failure.ts";
import type { Api, Calls, Progress, Reply, Request } from "./protocol.ts";

/** The part of a Worker that is used; tests put their own in its place. */
export interface WorkerLike<A extends Calls<A> = Api, P = Progress> {
  postMessage(message: Request<A>): void;
  terminate(): void;
  onmessage: ((event: { data: Reply<P> }) => void) | null;
  onerror: ((event: { message?: string; preventDefault?(): void }) => void) | null;
  onmessageerror: ((event: unknown) => void) | null;
}

export interface CallOptions<P = Progress> {
  signal?: AbortSignal;
  onProgress?: (progress: P) => void;
}

interface Pending<P> {
  resolve(value: unknown): void;
  reject(error: FailureError): void;
  onProgress: ((progress: P) => void) | undefined;
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
export class Client<A extends Calls<A> = Api, P = Progress> {
  readonly #make: () => WorkerLike<A, P>;
  readonly #base: string;
  readonly #gone: Failure;
  readonly #pending = new Map<number, Pending<P>>();
  /** Told when a worker died, whether or not a call was waiting. */
  died: ((failure: Failure) => void) | undefined;
  #worker: WorkerLike<A, P> | undefined;
  #next = 1;

  constructor(make: () => WorkerLike<A, P>, base: string, gone = GONE) {
    this.#make = make;
    this.#base = base;
    this.#gone = gone;
  }

  call<M extends keyof A>(method: M, args: Parameters<A[M]>, { signal, onProgress }: CallOptions<P> = {}): Promise<ReturnType<A[M]>> {
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
        resolve: (value) => (settled(), resolve(value as ReturnType<A[M]>)),
        reject: (error) => (settled(), reject(error)),
        onProgress,
      });
      try {
        this.#running().postMessage({ id, method, args } as Request<A>);
      } catch (error) {
        // The worker could not be made, or an argument cannot be sent.
        this.#settle(id)?.reject(new FailureError({ ...this.#gone, message: `${this.#gone.message} ${String(error)}` }));
      }
    });
  }

  #running(): WorkerLike<A, P> {
    if (this.#worker !== undefined) return this.#worker;
    const worker = this.#make();
    worker.onmessage = ({ data }) => this.#receive(worker, data);
    worker.onerror = (event) => {
      event.preventDefault?.();
      this.#die(worker, event.message ? { ...this.#gone, message: `${this.#gone.message} ${event.message}` } : this.#gone);
    };
    worker.onmessageerror = () => this.#die(worker, this.#gone);
    this.#worker = worker;
    worker.postMessage({ start: { base: this.#base } });
    return worker;
  }

  #receive(worker: WorkerLike<A, P>, reply: Reply<P>): void {
    if (worker !== this.#worker) return;
    if ("progress" in reply) return this.#pending.get(reply.id)?.onProgress?.(reply.progress);
    const pending = this.#settle(reply.id);
    if ("value" in reply) return pending?.resolve(reply.value);
    pending?.reject(new FailureError(reply.failure));
    // After a trap the module cannot be trusted: the others fail now instead of never.
    if (reply.failure.kind === "crashed") this.#die(worker, reply.failure);
  }

  #die(worker: WorkerLike<A, P>, failure: Failure): void {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    worker.terminate();
    for (const id of [...this.#pending.keys()]) this.#settle(id)?.reject(new FailureError(failure));
    this.died?.(failure);
  }

  /** Whether there is a worker. */
  get alive(): boolean {
    return this.#worker !== undefined;
  }

  /** Ends the worker, whatever it does: what waits fails as cancelled. The next call starts a new one. */
  close(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
    for (const id of [...this.#pending.keys()]) this.#settle(id)?.reject(cancelled());
  }

  #settle(id: number): Pending<P> | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending;
  }
}

function cancelled(): FailureError {
  return new FailureError({ kind: "cancelled", message: "Cancelled." });
}
