import type { Client } from "../client.ts";
import { asFailure } from "../failure.ts";
import { counted, formatCount } from "../format.ts";
import type { Message } from "../text/template.ts";
import { h, replace } from "./dom.ts";
import { failureNotice } from "./notice.ts";
import { everyRun, FoundRuns, RowPages } from "./row-pages.ts";
import { runDetail } from "./run-detail.ts";
import { RunList } from "./run-list.ts";

export interface RunsActions {
  ask(messages: Message[]): void;
  /** The run that is shown, or undefined when the list is. */
  navigate(run: number | undefined): void;
}

/** The list of runs with its search, and beside it (on a phone: in its place) the run that was chosen. */
export class RunsPanel {
  readonly element: HTMLElement;
  readonly #client: Client;
  readonly #actions: RunsActions;
  readonly #total: number;
  readonly #list: RunList;
  readonly #detail = h("div", { className: "detail-pane" });
  readonly #status = h("p", { className: "quiet search-status", attrs: { role: "status" } });
  #search: AbortController | undefined;
  #typing = 0;
  #shown: number | undefined;

  constructor(client: Client, total: number, actions: RunsActions) {
    this.#client = client;
    this.#total = total;
    this.#actions = actions;
    const pages = new RowPages(
      (runs) => client.call("rows", [runs]),
      () => this.#list.draw(),
      (thrown) => this.#fail(thrown),
    );
    this.#list = new RunList(pages, (run) => this.#enter(run), (run) => this.#preview(run));
    const input = h("input", { type: "search", placeholder: "Search the text, or ids: 3725 5367", spellcheck: false, attrs: { "aria-label": "Search in runs" } });
    input.oninput = () => {
      clearTimeout(this.#typing);
      this.#typing = window.setTimeout(() => void this.#find(input.value), 200);
    };
    input.onkeydown = (event) => {
      if (event.key !== "ArrowDown") return;
      event.preventDefault();
      this.#list.element.focus();
    };
    this.element = h(
      "div",
      { className: "runs-panel" },
      h("div", { className: "list-pane" }, input, this.#status, this.#list.element),
      this.#detail,
    );
    this.#hint();
    this.#all();
  }

  /** Draws again what could not be measured while the panel was hidden. */
  shown(): void {
    this.#list.draw();
    // Where there is room for both, an empty half would only ask for a click.
    if (this.#shown === undefined && this.#total > 0 && this.#detail.offsetWidth > 0) void this.open(0, false);
  }

  /** Ends what is still going on. */
  close(): void {
    this.#search?.abort();
    clearTimeout(this.#typing);
  }

  /** Shows a run; with `enter` the focus goes with it, and a narrow screen shows it in place of the list. */
  async open(run: number, enter: boolean): Promise<void> {
    if (enter) this.element.classList.add("showing-run");
    this.#shown = run;
    this.#list.choose(run);
    try {
      const view = await this.#client.call("run", [run]);
      if (this.#shown !== run) return;
      replace(this.#detail, runDetail(this.#client, view, { ask: this.#actions.ask, back: () => this.#back() }));
      this.#detail.scrollTop = 0;
      if (enter) this.#detail.querySelector<HTMLElement>("#run-name")?.focus();
    } catch (thrown) {
      if (this.#shown === run) replace(this.#detail, failureNotice(asFailure(thrown), []));
    }
  }

  /** Back to the list, on screens that show one of the two. */
  list(): void {
    this.element.classList.remove("showing-run");
    this.#list.draw();
  }

  #back(): void {
    this.list();
    this.#actions.navigate(undefined);
    this.#list.element.focus();
  }

  /** The address says which run is open; that it changed is what opens the run. */
  #enter(run: number): void {
    if (location.hash === `#run=${run}`) void this.open(run, true);
    else this.#actions.navigate(run);
  }

  #preview(run: number): void {
    if (run !== this.#shown) void this.open(run, false);
  }

  #hint(): void {
    replace(this.#detail, h("p", { className: "quiet hint" }, this.#total > 0 ? "Choose a run to read it." : "This map has no runs."));
  }

  #all(): void {
    replace(this.#status, counted(this.#total, "run"));
    this.#list.show(everyRun(this.#total));
  }

  async #find(query: string): Promise<void> {
    this.#search?.abort();
    if (query.trim() === "") return this.#all();
    const search = new AbortController();
    this.#search = search;
    const found = new FoundRuns();
    this.#list.show(found);
    // The same elements from the first report to the last: a button that is made anew cannot be clicked.
    const count = h("span", {});
    replace(this.#status, count, h("button", { type: "button", className: "link", onclick: () => search.abort() }, "Stop"));
    try {
      const end = await this.#client.call("search", [query], {
        signal: search.signal,
        onProgress: ({ done, total, found: more }) => {
          if (search.signal.aborted) return;
          const from = found.length;
          if (more) found.add(more);
          if (more && more.length > 0) this.#list.grown(from);
          replace(count, `${formatCount(found.length)} found, ${formatCount(done)} of ${formatCount(total ?? 0)} searched `);
        },
      });
      replace(this.#status, end.found === 0 ? `No run contains this (${counted(end.searched, "run")} searched).` : `${formatCount(end.found)} of ${counted(end.searched, "run")}`);
    } catch (thrown) {
      const failure = asFailure(thrown);
      if (failure.kind !== "cancelled") this.#fail(thrown);
      else if (this.#search === search) replace(this.#status, `Stopped; ${formatCount(found.length)} found so far.`);
    }
  }

  #fail(thrown: unknown): void {
    replace(this.#status, asFailure(thrown).message);
  }
}
