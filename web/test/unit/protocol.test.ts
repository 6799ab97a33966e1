import { describe, expect, it } from "vitest";
import { Client, type WorkerLike } from "../../src/client.ts";
import { FailureError } from "../../src/failure.ts";
import type { Api, Progress, SearchResult, ToPage, ToWorker } from "../../src/protocol.ts";
import { serve, type Handlers } from "../../src/worker/serve.ts";

const kind = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "settled",
    (thrown: unknown) => (thrown as FailureError).failure.kind,
  );

/** A worker that is no thread: messages are copied and delivered later, as between threads. */
class LocalWorker implements WorkerLike {
  onmessage: WorkerLike["onmessage"] = null;
  onerror: WorkerLike["onerror"] = null;
  onmessageerror: WorkerLike["onmessageerror"] = null;
  terminated = false;
  readonly received: ToWorker[] = [];
  readonly #receive: (message: ToWorker) => Promise<void>;

  constructor(handlers: Partial<Handlers>) {
    this.#receive = serve(handlers as Handlers, (message: ToPage) => {
      const copy = structuredClone(message);
      queueMicrotask(() => this.terminated || this.onmessage?.({ data: copy }));
    });
  }

  postMessage(message: ToWorker): void {
    this.received.push(message);
    const copy = structuredClone(message);
    queueMicrotask(() => void this.#receive(copy));
  }

  terminate(): void {
    this.terminated = true;
  }
}

function setUp(handlers: Partial<Handlers>): { client: Client; workers: LocalWorker[] } {
  const workers: LocalWorker[] = [];
  const client = new Client<Api>(() => {
    workers.push(new LocalWorker(handlers));
    return workers.at(-1)!;
  }, "http://page/");
  return { client, workers };
}

const never = (): Promise<never> => new Promise(() => {});

describe("a call", () => {
  it("settles with the value, after its progress", async () => {
    const seen: Progress[] = [];
    const { client, workers } = setUp({
      search: ({ progress }, query) => {
        progress({ done: 1, total: 2, found: Uint32Array.of(7) });
        return { searched: 2, found: query.length };
      },
    });
    const value = await client.call("search", ["abc"], { onProgress: (progress) => seen.push(progress) });
    expect(value).toEqual({ searched: 2, found: 3 });
    expect(seen).toEqual([{ done: 1, total: 2, found: Uint32Array.of(7) }]);
    expect(workers[0]!.received[0]).toEqual({ start: { base: "http://page/" } });
  });

  it("settles with a failure: thrown, rejected, with the package's kind, or no such call", async () => {
    const { client } = setUp({
      rows: () => {
        throw Object.assign(new Error("too many"), { kind: "invalid-argument", offset: 12 });
      },
      run: () => Promise.reject(new FailureError({ kind: "no-run", message: "none" })),
    });
    await expect(client.call("rows", [Uint32Array.of(1)])).rejects.toMatchObject({ failure: { kind: "invalid-argument", message: "too many", offset: 12 } });
    expect(await kind(client.call("run", [1]))).toBe("no-run");
    expect(await kind(client.call("suggest", [1]))).toBe("internal");
  });

  it("settles at once when it is cancelled, and the worker hears of it", async () => {
    let heard = false;
    const { client } = setUp({
      search: ({ signal }) => {
        signal.addEventListener("abort", () => (heard = true));
        return never();
      },
    });
    const abort = new AbortController();
    const call = client.call("search", ["x"], { signal: abort.signal });
    await Promise.resolve();
    abort.abort();
    expect(await kind(call)).toBe("cancelled");
    await new Promise((resolve) => setTimeout(resolve));
    expect(heard).toBe(true);
  });

  it("that was cancelled before it began sends nothing", async () => {
    const { client, workers } = setUp({});
    expect(await kind(client.call("search", ["x"], { signal: AbortSignal.abort() }))).toBe("cancelled");
    expect(workers.length).toBe(0);
  });

  it("settles when the worker cannot be made, or an argument cannot be sent", async () => {
    const broken = new Client<Api>(() => {
      throw new Error("no workers here");
    }, "");
    expect(await kind(broken.call("suggest", [1]))).toBe("crashed");
    const { client } = setUp({});
    expect(await kind(client.call("ask", [[{ role: "user", content: (() => {}) as unknown as string }]]))).toBe("crashed");
  });

  it("each gets its own answer, in whatever order they come", async () => {
    const { client } = setUp({
      search: async (_, query): Promise<SearchResult> => {
        await new Promise((resolve) => setTimeout(resolve, query === "slow" ? 20 : 1));
        return { searched: 0, found: query.length };
      },
    });
    const both = await Promise.all([client.call("search", ["slow"]), client.call("search", ["quicker"])]);
    expect(both.map(({ found }) => found)).toEqual([4, 7]);
  });
});

describe("when the worker dies", () => {
  it.each(["onerror", "onmessageerror"] as const)("(%s) everything that waits fails, and the next call gets a new one", async (how) => {
    const { client, workers } = setUp({ search: never, suggest: () => [] });
    const died: string[] = [];
    client.died = (failure) => died.push(failure.kind);
    const waiting = [client.call("search", ["a"]), client.call("search", ["b"])];
    workers[0]![how]!({ message: "out of memory" } as never);
    expect(await Promise.all(waiting.map(kind))).toEqual(["crashed", "crashed"]);
    expect(workers[0]!.terminated).toBe(true);
    expect(died).toEqual(["crashed"]);
    expect(await client.call("suggest", [1])).toEqual([]);
    expect(workers.length).toBe(2);
  });

  it("by a trap in WebAssembly, the others fail now instead of never", async () => {
    const { client, workers } = setUp({
      search: never,
      run: () => {
        throw new WebAssembly.RuntimeError("unreachable");
      },
    });
    const waiting = client.call("search", ["a"]);
    expect(await kind(client.call("run", [1]))).toBe("crashed");
    expect(await kind(waiting)).toBe("crashed");
    expect(workers[0]!.terminated).toBe(true);
  });

  it("late messages of a dead worker are not heard", async () => {
    const { client, workers } = setUp({ search: never });
    const waiting = kind(client.call("search", ["a"]));
    workers[0]!.onerror!({});
    await waiting;
    const next = kind(client.call("search", ["b"]));
    workers[0]!.onmessage!({ data: { id: 2, value: "wrong" } });
    workers[1]!.onerror!({});
    expect(await next).toBe("crashed");
  });
});
