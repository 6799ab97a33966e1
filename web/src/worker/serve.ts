import { asFailure } from "../failure.ts";
import type { Api, Calls, Progress, Reply, Request } from "../protocol.ts";

/** What a handler gets beside its arguments. */
export interface Call<P = Progress> {
  /** Fires when the page has lost interest. */
  signal: AbortSignal;
  progress(progress: P): void;
}

export type Handlers<A extends Calls<A> = Api, P = Progress> = {
  [M in keyof A]: (call: Call<P>, ...args: Parameters<A[M]>) => ReturnType<A[M]> | Promise<ReturnType<A[M]>>;
};

/** The worker's end of the protocol: one reply to each request, whatever the handler does. */
export function serve<A extends Calls<A> = Api, P = Progress>(
  handlers: Handlers<A, P>,
  reply: (message: Reply<P>) => void,
): (message: Request<A>) => Promise<void> {
  const running = new Map<number, AbortController>();
  return async (message) => {
    if ("start" in message) return;
    if ("cancel" in message) return running.get(message.cancel)?.abort();
    const { id, method, args } = message;
    const abort = new AbortController();
    running.set(id, abort);
    try {
      const handler = handlers[method] as ((call: Call<P>, ...args: unknown[]) => unknown) | undefined;
      if (handler === undefined) throw new Error(`no such call: ${String(method)}`);
      const value = await handler({ signal: abort.signal, progress: (progress: P) => reply({ id, progress }) }, ...args);
      reply({ id, value });
    } catch (thrown) {
      reply({ id, failure: asFailure(thrown) });
    } finally {
      running.delete(id);
    }
  };
}

/** Lets messages in between two pieces of a long job, and ends the job when nobody waits for it any more. */
export async function breathe(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve));
  signal.throwIfAborted();
}
