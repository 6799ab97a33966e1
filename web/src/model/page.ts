import { asFailure, type Failure } from "../failure.ts";
import { h, replace } from "../ui/dom.ts";
import { bar } from "../ui/header.ts";
import { failureNotice } from "../ui/notice.ts";
import { AnswerView } from "./answer-view.ts";
import type { Given, Model } from "./client.ts";
import { AskForm } from "./ask-form.ts";
import { LoadPanel } from "./load-panel.ts";
import { MapPanel } from "./map-panel.ts";

/** Ties the parts together: the model, its map, a prompt and the answer. */
export class Page {
  readonly #model: Model;
  readonly #messages = h("div", { className: "messages" });
  readonly #answers = h("div", { className: "answers" });
  readonly #load: LoadPanel;
  readonly #map: MapPanel;
  readonly #ask: AskForm;

  constructor(root: HTMLElement, model: Model) {
    this.#model = model;
    model.died = (failure) => {
      this.#unloaded();
      this.#fail(failure);
    };
    const settle = (work: Promise<void>): void => void work.catch((thrown: unknown) => this.#fail(asFailure(thrown)));
    this.#load = new LoadPanel((given) => settle(this.#loadModel(given)), () => settle(this.#dispose()));
    this.#map = new MapPanel({
      attach: (given, trusted) => settle(this.#attach(given, trusted)),
      detach: () => settle(this.#detach()),
      save: (aside) => settle(this.#save(aside)),
      forget: () => settle(this.#model.forget().then((own) => this.#map.show(own))),
    });
    this.#ask = new AskForm(
      (prompt, options) => settle(this.#answer(prompt, options)),
      () => this.#model.abort(),
    );
    root.append(
      bar(h("a", { className: "button", href: "./" }, "Look into a map")),
      this.#messages,
      h(
        "main",
        { className: "model-page" },
        h("div", { className: "model-side" }, h("h1", {}, "A model beside its map"), this.#load.element, this.#map.element),
        h("div", { className: "model-main" }, this.#ask.element, this.#answers),
      ),
    );
    // A page that the browser keeps for the way back must not keep the map's file.
    addEventListener("pagehide", () => {
      this.#model.close();
      this.#unloaded();
    });
    addEventListener("pageshow", ({ persisted }) => persisted && settle(this.#route()));
    settle(this.#route());
  }

  /** What the address asks for. A link cannot declare a map trusted. */
  async #route(): Promise<void> {
    const asked = new URL(location.href).searchParams;
    const [model, map] = [asked.get("model"), asked.get("map")];
    if (!model) return;
    await this.#loadModel(model);
    if (map) await this.#attach(map, false);
  }

  async #loadModel(given: Given): Promise<void> {
    replace(this.#messages);
    this.#unloaded();
    const stop = new AbortController();
    this.#load.loading(given, () => stop.abort());
    try {
      const loaded = await this.#model.load(given, { backend: this.#load.backend, progress: (at) => this.#load.show(at), signal: stop.signal });
      this.#load.loaded(loaded);
      this.#map.show(loaded.own);
      this.#ask.enable(true);
    } catch (thrown) {
      this.#load.empty();
      const failure = asFailure(thrown);
      // Whoever stopped it knows; what is still being read must go.
      if (failure.kind === "cancelled") return this.#model.dispose();
      throw thrown;
    }
  }

  async #dispose(): Promise<void> {
    this.#unloaded();
    await this.#model.dispose();
  }

  #unloaded(): void {
    this.#load.empty();
    this.#map.empty();
    this.#ask.enable(false);
  }

  async #attach(given: Given, trusted: boolean): Promise<void> {
    replace(this.#messages);
    const own = await this.#model.attach(given, trusted);
    this.#map.attached(typeof given === "string" ? given : given instanceof File ? given.name : "a map", trusted);
    this.#map.show(own);
  }

  async #detach(): Promise<void> {
    const own = await this.#model.detach();
    this.#map.detached();
    this.#map.show(own);
  }

  async #save(aside?: string): Promise<void> {
    const bytes = await this.#model.mapBytes(aside);
    const url = URL.createObjectURL(new Blob([bytes as Uint8Array<ArrayBuffer>]));
    h("a", { href: url, download: aside === undefined ? "answers.mrail" : "damaged.mrail" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }

  async #answer(prompt: string, options: { maxNew: number; draft: number; useMap: boolean }): Promise<void> {
    replace(this.#messages);
    const view = new AnswerView(prompt);
    this.#answers.prepend(view.element);
    this.#ask.busy(true);
    try {
      const chunks = this.#model.generate(prompt, options);
      let next = await chunks.next();
      for (; !next.done; next = await chunks.next()) view.add(next.value);
      view.end(next.value);
      this.#map.show(await this.#model.own());
    } catch (thrown) {
      view.end(undefined);
      throw thrown;
    } finally {
      this.#ask.busy(false);
    }
  }

  #fail(failure: Failure): void {
    if (failure.kind === "cancelled") return;
    replace(this.#messages, failureNotice(failure, [{ label: "Dismiss", run: () => replace(this.#messages) }]));
  }
}
