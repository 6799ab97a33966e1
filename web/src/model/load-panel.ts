import { formatBytes, formatCount, formatShare } from "../format.ts";
import { h, replace, type Child } from "../ui/dom.ts";
import type { Given, Loaded, ModelProgress } from "./client.ts";
import { filePicker } from "./file-picker.ts";

type Backend = "auto" | "gpu" | "cpu";

const BACKENDS: [Backend, string][] = [
  ["auto", "Automatic"],
  ["gpu", "GPU"],
  ["cpu", "Processor"],
];

/** Which model is loaded, how far it is, and where it runs. */
export class LoadPanel {
  readonly element = h("section", { className: "card panel", attrs: { "aria-labelledby": "model-head" } });
  readonly #bar = h("progress", { attrs: { "aria-label": "Loaded" } });
  readonly #text = h("p", { className: "quiet", attrs: { role: "status" } });
  readonly #where = h("p", { className: "quiet" });
  readonly #load: (given: Given) => void;
  readonly #unload: () => void;
  backend: Backend = "auto";

  constructor(load: (given: Given) => void, unload: () => void) {
    this.#load = load;
    this.#unload = unload;
    this.empty();
  }

  empty(): void {
    const backend = h("select", { id: "backend" }, ...BACKENDS.map(([value, label]) => h("option", { value, selected: value === this.backend }, label)));
    backend.onchange = () => (this.backend = backend.value as Backend);
    this.#draw(
      h("p", { className: "quiet" }, "A GGUF file of a small llama or qwen2 model. It stays on this computer."),
      filePicker({ id: "model-address", accept: ".gguf", choose: "Choose a model …", placeholder: "https://…/model.gguf", take: this.#load }),
      h("div", { className: "inline-field" }, h("label", { htmlFor: "backend" }, "Run it on"), backend),
    );
  }

  loading(given: Given, cancel: () => void): void {
    this.#bar.removeAttribute("value");
    replace(this.#text, "Starting …");
    replace(this.#where);
    const name = typeof given === "string" ? given.split("/").at(-1) : given instanceof File ? given.name : undefined;
    this.#draw(
      h("p", { className: "panel-title" }, `Loading ${name || "a model"}`),
      this.#bar,
      this.#text,
      this.#where,
      h("div", { className: "actions" }, h("button", { type: "button", className: "button", onclick: cancel }, "Cancel")),
    );
  }

  show(progress: ModelProgress): void {
    if (progress.stage === "answer") return;
    if (progress.stage === "needs") {
      replace(this.#where, `Needs ${formatBytes(progress.needs.total)} on ${progress.adapter || progress.backend}`);
      return;
    }
    const { done, total } = progress;
    if (total !== undefined && total > 0) [this.#bar.max, this.#bar.value] = [total, done];
    const verb = VERBS[progress.stage];
    replace(this.#text, total === undefined ? `${verb} ${formatBytes(done)}` : `${verb} ${formatBytes(done)} of ${formatBytes(total)} (${formatShare(done, total)})`);
  }

  loaded(loaded: Loaded): void {
    const { name, file, backend, adapter, software, why, cache, exactUntil } = loaded;
    const where = `${backend === "gpu" ? "GPU" : "Processor"}${backend === "gpu" && software ? " (software)" : ""}`;
    const row = (term: string, ...value: Child[]): HTMLElement => h("div", {}, h("dt", {}, term), h("dd", {}, ...value));
    this.#draw(
      h("p", { className: "panel-title" }, name ?? file),
      h(
        "dl",
        { className: "pairs" },
        row("Runs on", h("span", { className: "badge good" }, where), ` ${adapter}`),
        why !== undefined && row("Why", why),
        row("Weights", `${formatBytes(loaded.weightBytes)} of a file of ${formatBytes(loaded.fileBytes)}`),
        row("State", `${formatBytes(loaded.stateBytes)}, whatever the context`),
        row("Exact", exactUntil === undefined ? "always" : `up to ${formatCount(exactUntil)} tokens`),
        cache !== undefined && row("File", CACHE[cache]),
      ),
      h("div", { className: "actions" }, h("button", { type: "button", className: "button", onclick: this.#unload }, "Unload")),
    );
  }

  #draw(...children: Child[]): void {
    replace(this.element, h("h2", { id: "model-head" }, "Model"), ...children);
  }
}

const VERBS = { download: "Downloaded", weights: "Weights:", identity: "Looking for its map:" };

const CACHE = {
  hit: "from this browser’s cache",
  stored: "kept in this browser’s cache",
  none: "not kept: this browser gives no room for it",
};
