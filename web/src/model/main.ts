import "../styles/index.css";
import "../styles/model.css";
import type { WorkerLike } from "../client.ts";
import { Model } from "./client.ts";
import { Page } from "./page.ts";
import type { ModelApi, ModelProgress } from "./protocol.ts";

const model = new Model(
  () => new Worker(new URL("./worker.ts", import.meta.url), { type: "module" }) as unknown as WorkerLike<ModelApi, ModelProgress>,
);

new Page(document.getElementById("app")!, model);
