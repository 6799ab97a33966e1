import type { Chunk, Prompt } from "mrail-gpu";
import { describe, expect, it } from "vitest";
import type { WorkerLike } from "../../src/client.ts";
import { FailureError } from "../../src/failure.ts";
import { Model } from "../../src/model/client.ts";
import type { ModelApi, ModelProgress } from "../../src/model/protocol.ts";
import type { Reply, Request } from "../../src/protocol.ts";
import { serve, type Handlers } from "../../src/worker/serve.ts";

/** A model over handlers that are no thread: messages are copied and delivered later, as between threads. */
function model(handlers: Partial<Handlers<ModelApi, ModelProgress>>): { model: Model; ended: () => boolean } {
  let ended = false;
  const make = (): WorkerLike<ModelApi, ModelProgress> => {
    const worker: WorkerLike<ModelApi, ModelProgress> = {
      onmessage: null,
      onerror: null,
      onmessageerror: null,
      postMessage: (message: Request<ModelApi>) => queueMicrotask(() => void receive(structuredClone(message))),
      terminate: () => (ended = true),
    };
    const reply = (message: Reply<ModelProgress>): void => queueMicrotask(() => worker.onmessage?.({ data: structuredClone(message) }));
    const receive = serve<ModelApi, ModelProgress>(handlers as Handlers<ModelApi, ModelProgress>, reply);
    return worker;
  };
  return { model: new Model(make, "https://page.test/a/"), ended: () => ended };
}

const chunk = (text: string): Chunk => ({ text, tokens: Uint32Array.of(1), origin: "model" }) as unknown as Chunk;
const answered = { end: "stop", milliseconds: 1 } as Awaited<ReturnType<ModelApi["generate"]>>;

/** Says its prompt, word by word, until it is stopped. */
const generate: Handlers<ModelApi, ModelProgress>["generate"] = async (call, prompt: Prompt) => {
  for (const word of String(prompt).split(" ")) {
    call.progress({ stage: "answer", chunk: chunk(word) });
    await new Promise((resolve) => setTimeout(resolve));
    call.signal.throwIfAborted();
  }
  return answered;
};

describe("an answer", () => {
  it("is an iterator of its pieces, and returns how it ended", async () => {
    const answer = model({ generate }).model.generate("one two three");
    const words: string[] = [];
    let next = await answer.next();
    for (; !next.done; next = await answer.next()) words.push(next.value.text);
    expect([words, next.value]).toEqual([["one", "two", "three"], answered]);
  });

  it("ends when the loop is left, and when it is aborted", async () => {
    const { model: it } = model({ generate });
    for await (const piece of it.generate("one two three")) {
      expect(piece.text).toBe("one");
      break;
    }
    const words: string[] = [];
    for await (const piece of it.generate("four five six")) {
      words.push(piece.text);
      it.abort();
    }
    expect(words[0]).toBe("four");
    expect(words.length).toBeLessThan(3);
    // Nothing is under way: no harm.
    it.abort();
  });

  it("throws what the worker says, after the pieces that there were", async () => {
    const { model: it } = model({
      generate: async (call) => {
        call.progress({ stage: "answer", chunk: chunk("one") });
        throw Object.assign(new Error("the GPU is lost"), { kind: "gpu-lost" });
      },
    });
    const answer = it.generate("x");
    expect((await answer.next()).value).toMatchObject({ text: "one" });
    const thrown = await answer.next().catch((thrown: unknown) => thrown);
    expect((thrown as FailureError).failure.kind).toBe("gpu-lost");
  });
});

describe("a model", () => {
  it("gets addresses as the page sees them, and says what is none", async () => {
    const seen: unknown[] = [];
    const { model: it } = model({ load: (_, source) => (seen.push(source), { file: source.name } as never) });
    await it.load("models/tiny%20one.gguf");
    await it.load(Uint8Array.of(1));
    expect(seen).toEqual([
      { name: "tiny one.gguf", url: "https://page.test/a/models/tiny%20one.gguf" },
      { name: "the bytes", bytes: Uint8Array.of(1) },
    ]);
    for (const none of ["http://[", "100%.gguf"]) expect(() => it.load(none)).toThrow("is no address");
  });

  it("is gone after it was disposed of, and can be loaded again", async () => {
    const { model: it, ended } = model({ dispose: () => {}, load: () => ({ file: "x" }) as never });
    await it.load(Uint8Array.of(1));
    await it.dispose();
    expect(ended()).toBe(true);
    expect(await it.load(Uint8Array.of(1))).toEqual({ file: "x" });
  });

  it("is gone at once when its page goes, whatever it does, and a new one is not made for that", async () => {
    let made = 0;
    const { model: it, ended } = model({ load: () => (made++, new Promise(() => {})) });
    const loading = it.load(Uint8Array.of(1)).catch((thrown: unknown) => (thrown as FailureError).failure.kind);
    await new Promise((resolve) => setTimeout(resolve));
    it.close();
    expect([await loading, ended()]).toEqual(["cancelled", true]);
    await it.dispose();
    expect(made).toBe(1);
  });
});
