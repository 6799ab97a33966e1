import type { LoadOptions, ModelSource, Runner, Turn } from "mrail-gpu";
import { asFailure, FailureError } from "../failure.ts";
import { fetchFile, MAP } from "../worker/fetch-file.ts";
import { breathe, type Call, type Handlers } from "../worker/serve.ts";
import { fetchModel, forget, requireModel, type Fetched } from "./fetch-model.ts";
import type { FileSource, Loaded, ModelApi, ModelProgress } from "./protocol.ts";

type RunnerClass = typeof Runner;

/** The calls of the protocol over one runner. `library` is awaited by each, so that a failure to load reaches every caller. */
export function handlers(library: () => Promise<RunnerClass>): Handlers<ModelApi, ModelProgress> {
  let current: Runner | undefined;

  const held = (): Runner => {
    if (current === undefined) throw new FailureError({ kind: "no-model", message: "No model is loaded.", advice: "Load one first." });
    return current;
  };

  const drop = async (): Promise<void> => {
    const before = current;
    current = undefined;
    await before?.dispose();
    before?.free();
  };

  const run = async (source: ModelSource, options: LoadOptions, call: Call<ModelProgress>): Promise<Runner> => {
    const Class = await library();
    return Class.load(source, options, (progress) => {
      // What is thrown here ends the loading.
      call.signal.throwIfAborted();
      call.progress(progress);
    });
  };

  const load = async (call: Call<ModelProgress>, source: FileSource, options: LoadOptions): Promise<Loaded> => {
    // Two models at once may not fit.
    await drop();
    const { runner, cache } = await (async () => {
      if ("bytes" in source) return { runner: await run(source.bytes, options, call), cache: undefined };
      if ("file" in source) return { runner: await fromBlob(source.file, source.name, options, call, run), cache: undefined };
      return fromNetwork(source.url, source.name, options, call, run);
    })();
    if (call.signal.aborted) {
      await runner.dispose();
      call.signal.throwIfAborted();
    }
    await drop();
    current = runner;
    return { ...runner.info(), file: source.name, ...(cache && { cache }) };
  };

  return {
    load,
    attach: async (call, source, trusted) => {
      const runner = held();
      runner.attach(await mapBytes(source, call), trusted);
    },
    detach: () => held().detach(),
    mapBytes: () => held().mapBytes(),
    generate: async (call, prompt, options) => {
      const runner = held();
      // The one before may be on its way out.
      if (stopping) await stopping;
      const start = performance.now();
      const turn = runner.generate(prompt, options);
      const aborted = (): void => void stop(turn);
      call.signal.addEventListener("abort", aborted);
      try {
        for (let chunk = await turn.next(); chunk !== undefined; chunk = await turn.next()) {
          call.progress({ stage: "answer", chunk });
          // On the processor nothing else gives way to messages, and one of them may say: stop.
          await breathe(call.signal);
        }
        return { end: turn.end, stats: turn.stats, milliseconds: performance.now() - start };
      } finally {
        call.signal.removeEventListener("abort", aborted);
        await stop(turn);
        turn.free();
      }
    },
    dispose: drop,
  };
}

let stopping: Promise<void> | undefined;

/** Ends a turn; who comes next waits until the model is free. */
function stop(turn: Turn): Promise<void> {
  const done = turn.abort().finally(() => {
    if (stopping === done) stopping = undefined;
  });
  return (stopping = done);
}

type Run = (source: ModelSource, options: LoadOptions, call: Call<ModelProgress>) => Promise<Runner>;

async function fromBlob(blob: Blob, name: string, options: LoadOptions, call: Call<ModelProgress>, run: Run): Promise<Runner> {
  requireModel(new Uint8Array(await blob.slice(0, 512).arrayBuffer()), name);
  return run(ranges(blob), options, call);
}

async function fromNetwork(url: string, name: string, options: LoadOptions, call: Call<ModelProgress>, run: Run): Promise<{ runner: Runner; cache: Fetched["cache"] }> {
  const download = { signal: call.signal, progress: (at: { done: number; total?: number }) => call.progress({ stage: "download", ...at }) };
  const { blob, cache } = await fetchModel(url, name, download);
  try {
    return { runner: await fromBlob(blob, name, options, call, run), cache };
  } catch (thrown) {
    const { kind } = asFailure(thrown);
    if (cache === "none" || (kind !== "not-a-model" && kind !== "read")) throw thrown;
    // What is kept may be damaged where its ends do not show it: it must not be in the way of the next try.
    await forget(url);
    if (cache === "stored") throw thrown;
    const again = await fetchModel(url, name, download);
    return { runner: await fromBlob(again.blob, name, options, call, run), cache: again.cache };
  }
}

/** Only in workers, which the page's types leave out. */
declare class FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}

/** A file of which only what is asked for is read, at once: workers may. */
function ranges(blob: Blob): ModelSource {
  const reader = new FileReaderSync();
  return { byteLength: blob.size, read: (start, end) => new Uint8Array(reader.readAsArrayBuffer(blob.slice(start, end))) };
}

async function mapBytes(source: FileSource, call: Call<ModelProgress>): Promise<Uint8Array> {
  if ("bytes" in source) return source.bytes;
  const progress = (at: { done: number; total?: number }): void => call.progress({ stage: "download", ...at });
  const blob = "file" in source ? source.file : await fetchFile(MAP, source.url, source.name, { signal: call.signal, progress });
  const bytes = new Uint8Array(await blob.arrayBuffer());
  MAP.require(bytes.subarray(0, 512), source.name);
  return bytes;
}
