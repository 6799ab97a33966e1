import { asFailure, type Failure } from "../failure.ts";
import { h, replace } from "../ui/dom.ts";
import { bar } from "../ui/header.ts";
import { failureNotice } from "../ui/notice.ts";
import { AnswerView } from "./answer-view.ts";
import type { Given, Model, OwnState } from "./client.ts";
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
  /** Counts the models that are gone: who waited for something of one has nothing more to do. */
  #gone = 0;
  #leaving: Promise<void> | undefined;

  constructor(root: HTMLElement, model: Model) {
    this.#model = model;
    model.died = (failure) => {
      this.#unloaded();
      this.#fail(failure);
    };
    const settle = (work: Promise<unknown>): void => {
      const gone = this.#gone;
      work.catch((thrown: unknown) => gone === this.#gone && this.#fail(asFailure(thrown)));
    };
    this.#load = new LoadPanel((given) => settle(this.#loadModel(given)), () => settle(this.#dispose()));
    this.#map = new MapPanel({
      attach: (given, trusted) => settle(this.#attach(given, trusted)),
      detach: () => settle(this.#show(this.#model.detach(), () => this.#map.detached())),
      save: (aside) => settle(this.#save(aside)),
      forget: () => settle(this.#show(this.#model.forget())),
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
    if (!model || !(await this.#loadModel(model))) return;
    if (map) await this.#attach(map, false);
  }

  /** Whether it is loaded now. */
  async #loadModel(given: Given): Promise<boolean> {
    replace(this.#messages);
    this.#unloaded();
    const gone = this.#gone;
    const stop = new AbortController();
    this.#load.loading(given, () => stop.abort());
    try {
      // The one before takes its worker with it, and what that was asked for meanwhile.
      await this.#leaving?.catch(() => {});
      if (gone !== this.#gone) return false;
      const loaded = await this.#model.load(given, { backend: this.#load.backend, progress: (at) => this.#load.show(at), signal: stop.signal });
      if (gone !== this.#gone) return false;
      this.#load.loaded(loaded);
      this.#map.show(loaded.own);
      this.#ask.enable(loaded.draft);
      return true;
    } catch (thrown) {
      if (gone !== this.#gone) return false;
      this.#load.empty();
      if (asFailure(thrown).kind !== "cancelled") throw thrown;
      // Whoever stopped it knows. What is still being read must go, and not wait for its worker: the next one may be asked for.
      this.#model.close();
      return false;
    }
  }

  async #dispose(): Promise<void> {
    this.#unloaded();
    await (this.#leaving = this.#model.dispose());
  }

  #unloaded(): void {
    this.#gone++;
    this.#load.empty();
    this.#map.empty();
    this.#ask.disable();
  }

  async #attach(given: Given, trusted: boolean): Promise<void> {
    replace(this.#messages);
    const name = typeof given === "string" ? given : given instanceof File ? given.name : "a map";
    await this.#show(this.#model.attach(given, trusted), () => this.#map.attached(name, trusted));
  }

  /** Shows what a call says of the own map, if the model that was asked is still there. */
  async #show(asked: Promise<OwnState>, before = (): void => {}): Promise<void> {
    const gone = this.#gone;
    const own = await asked;
    if (gone !== this.#gone) return;
    before();
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
    const gone = this.#gone;
    try {
      const chunks = this.#model.generate(prompt, options);
      let next = await chunks.next();
      for (; !next.done; next = await chunks.next()) view.add(next.value);
      view.end(next.value);
      // Asked of no worker, a new one would be made for it.
      if (gone === this.#gone) await this.#show(this.#model.own());
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
