import "./styles/index.css";
import { App } from "./app.ts";
import { Client, type WorkerLike } from "./client.ts";

const client = new Client(
  () => new Worker(new URL("./worker/worker.ts", import.meta.url), { type: "module" }) as unknown as WorkerLike,
  document.baseURI,
);

new App(document.getElementById("app")!, client);
