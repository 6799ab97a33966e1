/** The worker: the map, the tokenizer and everything that takes time. The page only draws. */
import init, { MrailMap } from "mrail";
import { FailureError } from "../failure.ts";
import type { ToPage, ToWorker } from "../protocol.ts";
import { Tokenizer, type TokenizerConfig } from "../text/tokenizer.ts";
import { handlers, type Engine } from "./handlers.ts";
import { serve } from "./serve.ts";

let base = "";
let loading: Promise<Engine> | undefined;

/** Loaded once, at the first message; a failure is forgotten, so that the next call tries again. */
function engine(): Promise<Engine> {
  loading ??= load().catch((thrown: unknown) => {
    loading = undefined;
    throw new FailureError({
      kind: "setup",
      message: `A part of this page could not be loaded: ${thrown instanceof Error ? thrown.message : String(thrown)}.`,
      advice: "Reload the page.",
    });
  });
  return loading;
}

async function load(): Promise<Engine> {
  const [, packed, config] = await Promise.all([
    init(),
    part("tokenizer/smollm2.pack").then((response) => response.arrayBuffer()),
    part("tokenizer/smollm2.config.json").then((response) => response.json() as Promise<TokenizerConfig>),
  ]);
  return {
    open: (bytes, trusted) => MrailMap.open(bytes, { trusted }),
    tokenizer: new Tokenizer(new Uint8Array(packed), config),
  };
}

async function part(path: string): Promise<Response> {
  const response = await fetch(new URL(path, base));
  if (!response.ok) throw new Error(`${path} (${response.status})`);
  return response;
}

const post = postMessage as (message: ToPage) => void;
const receive = serve(handlers(engine), post);

addEventListener("message", ({ data }: MessageEvent<ToWorker>) => {
  if ("start" in data) {
    base = data.start.base;
    // Loads while the map is on its way; whoever needs it hears about failures.
    engine().catch(() => {});
  }
  void receive(data);
});
