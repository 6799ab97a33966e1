import type { Client } from "../client.ts";
import type { Opened } from "../protocol.ts";
import type { Message } from "../text/template.ts";
import { AskPanel } from "./ask-panel.ts";
import { h } from "./dom.ts";
import { damageNotices, overview } from "./overview.ts";
import { RunsPanel } from "./runs-panel.ts";
import { Tabs } from "./tabs.ts";

/** Where in an open map somebody is, as the fragment of the address says it. */
type Place = { tab: "ask" } | { tab: "runs"; run?: number };

function placeOf(hash: string): Place {
  const run = /^#run=(\d+)$/.exec(hash);
  if (run) return { tab: "runs", run: Number(run[1]) };
  return hash === "#runs" ? { tab: "runs" } : { tab: "ask" };
}

/** An open map: its overview, and beside it the way to ask it and to look through it. */
export class MapView {
  readonly element: HTMLElement;
  readonly #ask: AskPanel;
  readonly #runs: RunsPanel;
  readonly #tabs: Tabs;
  readonly #listener = (): void => this.#go(placeOf(location.hash));

  constructor(client: Client, opened: Opened, declare: (trusted: boolean) => void) {
    this.#ask = new AskPanel(client, { showRun: (run) => (location.hash = `run=${run}`) });
    this.#runs = new RunsPanel(client, opened.info.runs, {
      ask: (messages) => {
        location.hash = "ask";
        this.#ask.ask(messages);
      },
      navigate: (run) => (location.hash = run === undefined ? "runs" : `run=${run}`),
    });
    this.#tabs = new Tabs(
      [
        { id: "ask", label: "Ask", panel: this.#ask.element },
        { id: "runs", label: "Runs", panel: this.#runs.element },
      ],
      (id) => (location.hash = id),
    );
    this.element = h(
      "main",
      { className: "map-view" },
      h("div", { className: "damage" }, ...damageNotices(opened)),
      h("div", { className: "columns" }, overview(opened, declare), this.#tabs.element),
    );
    addEventListener("hashchange", this.#listener);
  }

  /** To be called when the element is on the page: some of it is measured. */
  start(): void {
    this.#listener();
  }

  /** What is being asked; the same can be asked in another view. */
  get asked(): Message[] | undefined {
    return this.#ask.asked;
  }

  ask(messages: Message[]): void {
    this.#ask.ask(messages);
  }

  close(): void {
    removeEventListener("hashchange", this.#listener);
    this.#runs.close();
  }

  #go(place: Place): void {
    this.#tabs.show(place.tab);
    if (place.tab !== "runs") return;
    if (place.run !== undefined) void this.#runs.open(place.run, true);
    else this.#runs.list();
    this.#runs.shown();
  }
}
