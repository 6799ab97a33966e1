import { asFailure } from "../failure.ts";
import type { Api, Args, Method, Progress, ToPage, ToWorker, Value } from "../protocol.ts";

/** What a handler gets beside its arguments. */
export interface Call {
  /** Fires when the page has lost interest. */
  signal: AbortSignal;
  progress(progress: Progress): void;
}

export type Handlers = { [M in Method]: (call: Call, ...args: Args<M>) => Value<M> | Promise<Value<M>> };

/** The worker's end of the protocol: one reply to each request, whatever the handler does. */
export function serve(handlers: Handlers, reply: (message: ToPage) => void): (message: ToWorker) => Promise<void> {
  const running = new Map<number, AbortController>();
  return async (message) => {
    if ("start" in message) return;
    if ("cancel" in message) return running.get(message.cancel)?.abort();
    const { id, method, args } = message;
    const abort = new AbortController();
    running.set(id, abort);
    try {
      const handler = handlers[method] as ((call: Call, ...args: unknown[]) => Value<keyof Api>) | undefined;
      if (handler === undefined) throw new Error(`no such call: ${String(method)}`);
      const value = await handler({ signal: abort.signal, progress: (progress) => reply({ id, progress }) }, ...args);
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
