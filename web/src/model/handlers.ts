import type { Digest, LoadOptions, ModelSource, repairMap, Runner, Turn } from "mrail-gpu";
import { asFailure, FailureError } from "../failure.ts";
import { fetchFile, MAP } from "../worker/fetch-file.ts";
import { breathe, type Call, type Handlers } from "../worker/serve.ts";
import { fetchModel, forget, requireModel, type Fetched } from "./fetch-model.ts";
import { mapName, modelHash } from "./identity.ts";
import { OwnMap } from "./own-map.ts";
import type { FileSource, Loaded, ModelApi, ModelProgress } from "./protocol.ts";

/** What is used of the package. */
export interface Library {
  Runner: typeof Runner;
  Digest: typeof Digest;
  repairMap: typeof repairMap;
}

/** What is loaded. */
interface Current {
  runner: Runner;
  own: OwnMap;
}

/** The calls of the protocol over one runner. `library` is awaited by each, so that a failure to load reaches every caller. */
export function handlers(library: () => Promise<Library>): Handlers<ModelApi, ModelProgress> {
  let current: Current | undefined;

  const held = async (): Promise<Current> => {
    // An answer may be on its way out.
    await stopping;
    if (current === undefined) throw new FailureError({ kind: "no-model", message: "No model is loaded.", advice: "Load one first." });
    return current;
  };

  const drop = async (): Promise<void> => {
    const before = current;
    current = undefined;
    await before?.runner.dispose();
    before?.own.close();
    before?.runner.free();
  };

  const run = async (source: ModelSource, options: LoadOptions, call: Call<ModelProgress>): Promise<Runner> => {
    const { Runner } = await library();
    return Runner.load(source, options, (progress) => {
      // What is thrown here ends the loading.
      call.signal.throwIfAborted();
      call.progress(progress);
    });
  };

  const load = async (call: Call<ModelProgress>, source: FileSource, options: LoadOptions): Promise<Loaded> => {
    // Two models at once may not fit.
    await drop();
    const { runner, file, cache } = await (async () => {
      if ("bytes" in source) return { runner: await run(source.bytes, options, call), file: source.bytes, cache: undefined };
      if ("file" in source) return { runner: await fromBlob(source.file, source.name, options, call, run), file: source.file, cache: undefined };
      return fromNetwork(source.url, source.name, options, call, run);
    })();
    let own: OwnMap | undefined;
    try {
      own = await ownMap(runner, file, call, await library());
      call.signal.throwIfAborted();
    } catch (thrown) {
      await runner.dispose();
      own?.close();
      throw thrown;
    }
    await drop();
    current = { runner, own };
    return { ...runner.info(), file: source.name, ...(cache && { cache }), own: own.state() };
  };

  return {
    load,
    attach: async (call, source, trusted) => {
      const { runner, own } = await held();
      runner.attach(await mapBytes(source, call), trusted);
      if (trusted) own.replaced();
      return own.state();
    },
    detach: async () => {
      const { own } = await held();
      await own.leave();
      return own.state();
    },
    own: async () => (await held()).own.state(),
    mapBytes: async (_, aside) => {
      const { runner, own } = await held();
      return aside === undefined ? runner.mapBytes() : own.asideBytes(aside);
    },
    forget: async () => {
      const { own } = await held();
      await own.forget();
      return own.state();
    },
    generate: async (call, prompt, options) => {
      const { runner } = await held();
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

/** The map that this browser keeps for a model. */
async function ownMap(runner: Runner, file: Uint8Array | Blob, call: Call<ModelProgress>, { Digest, repairMap }: Library): Promise<OwnMap> {
  const digest = new Digest();
  try {
    const own = new OwnMap(runner, repairMap, mapName(await modelHash(file, digest, call), runner.info().numerics));
    await own.attach();
    return own;
  } finally {
    digest.free();
  }
}

async function fromNetwork(url: string, name: string, options: LoadOptions, call: Call<ModelProgress>, run: Run): Promise<{ runner: Runner; file: Blob; cache: Fetched["cache"] }> {
  const download = { signal: call.signal, progress: (at: { done: number; total?: number }) => call.progress({ stage: "download", ...at }) };
  const { blob, cache } = await fetchModel(url, name, download);
  try {
    return { runner: await fromBlob(blob, name, options, call, run), file: blob, cache };
  } catch (thrown) {
    const { kind } = asFailure(thrown);
    if (cache === "none" || (kind !== "not-a-model" && kind !== "read")) throw thrown;
    // What is kept may be damaged where its ends do not show it: it must not be in the way of the next try.
    await forget(url);
    if (cache === "stored") throw thrown;
    const again = await fetchModel(url, name, download);
    return { runner: await fromBlob(again.blob, name, options, call, run), file: again.blob, cache: again.cache };
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
