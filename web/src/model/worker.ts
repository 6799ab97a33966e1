/** The model's worker: the model, its map and everything that takes time. The page only draws. */
import init, { Digest, repairMap, Runner } from "mrail-gpu";
import { FailureError } from "../failure.ts";
import type { Reply, Request } from "../protocol.ts";
import { serve } from "../worker/serve.ts";
import { handlers, type Library } from "./handlers.ts";
import type { ModelApi, ModelProgress } from "./protocol.ts";

let loading: Promise<Library> | undefined;

/** Loaded once; a failure is forgotten, so that the next call tries again. */
function library(): Promise<Library> {
  loading ??= init().then(
    () => ({ Runner, Digest, repairMap }),
    (thrown: unknown) => {
      loading = undefined;
      const why = thrown instanceof Error ? thrown.message : String(thrown);
      throw new FailureError({ kind: "setup", message: `A part of this page could not be loaded: ${why}.`, advice: "Reload the page." });
    },
  );
  return loading;
}

const post = postMessage as (message: Reply<ModelProgress>) => void;
const receive = serve<ModelApi, ModelProgress>(handlers(library), post);

addEventListener("message", ({ data }: MessageEvent<Request<ModelApi>>) => {
  // Loads while the model's file is on its way; whoever needs it hears about failures.
  if ("start" in data) library().catch(() => {});
  void receive(data);
});
