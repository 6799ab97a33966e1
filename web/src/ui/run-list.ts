import { formatCount } from "../format.ts";
import type { RunRow } from "../protocol.ts";
import { h, replace, setAttribute, uniqueId } from "./dom.ts";
import type { Listing, RowPages } from "./row-pages.ts";
import { canvasHeight, moveBy, reveal, visible, type Geometry } from "./virtual.ts";

/** Height of a row; the same number stands in the styles (`--row`). */
const ROW = 78;

const ENDINGS: Record<RunRow["ending"], [label: string, words: string]> = {
  stop: ["whole", "The answer ends with the stop token"],
  cut: ["cut", "The answer ends without a stop token"],
  none: ["no answer", "Nothing was answered here"],
  elsewhere: ["copies", "The tokens are in the track's context"],
};

/**
 * The list of runs. As many elements as fit the window, however many runs there are; one tab stop, arrows inside.
 *
 * `opened` is called for Enter and clicks, `moved` when the arrows rest on a row.
 */
export class RunList {
  readonly element: HTMLElement;
  readonly #canvas: HTMLElement;
  readonly #rows: HTMLElement;
  readonly #pages: RowPages;
  readonly #opened: (run: number) => void;
  readonly #moved: (run: number) => void;
  readonly #id = uniqueId("row");
  #listing: Listing = { length: 0, at: (place) => place };
  #active = -1;
  #chosen = -1;
  #frame = 0;
  #rest = 0;

  constructor(pages: RowPages, opened: (run: number) => void, moved: (run: number) => void) {
    this.#pages = pages;
    this.#opened = opened;
    this.#moved = moved;
    this.#rows = h("div", { className: "rows", attrs: { role: "presentation" } });
    this.#canvas = h("div", { className: "canvas", attrs: { role: "presentation" } }, this.#rows);
    this.element = h("div", { className: "run-list", tabIndex: 0, attrs: { role: "listbox", "aria-label": "Runs" } }, this.#canvas);
    this.element.addEventListener("scroll", () => this.draw(), { passive: true });
    this.element.addEventListener("keydown", (event) => this.#key(event));
    this.element.addEventListener("focus", () => {
      // Whoever comes with the mouse is about to choose a row.
      if (this.#active < 0 && this.#listing.length > 0 && this.element.matches(":focus-visible")) this.#activate(0);
    });
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  show(listing: Listing): void {
    this.#listing = listing;
    this.#active = -1;
    this.element.scrollTop = 0;
    this.#pages.show(listing);
    this.draw();
  }

  grown(from: number): void {
    this.#pages.grown(from);
    this.draw();
  }

  /** Marks the run that is shown beside the list. */
  choose(run: number): void {
    this.#chosen = run;
    this.draw();
  }

  /** Draws what is in view, at most once a frame. */
  draw(): void {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#drawNow();
    });
  }

  #geometry(): Geometry {
    return { count: this.#listing.length, rowHeight: ROW, viewport: this.element.clientHeight };
  }

  #drawNow(): void {
    const geometry = this.#geometry();
    if (geometry.viewport === 0) return;
    const { first, end, top } = visible(geometry, this.element.scrollTop);
    this.#canvas.style.height = `${canvasHeight(geometry)}px`;
    this.#rows.style.transform = `translateY(${top}px)`;
    const rows: HTMLElement[] = [];
    for (let place = first; place < end; place++) rows.push(this.#row(place));
    replace(this.#rows, ...rows);
    setAttribute(this.element, "aria-activedescendant", this.#active >= first && this.#active < end ? `${this.#id}-${this.#active}` : undefined);
  }

  #row(place: number): HTMLElement {
    const row = this.#pages.row(place);
    const run = this.#listing.at(place);
    const element = h("div", {
      id: `${this.#id}-${place}`,
      className: `row${place === this.#active ? " active" : ""}`,
      attrs: { role: "option", "aria-selected": String(run === this.#chosen), "aria-posinset": place + 1, "aria-setsize": this.#listing.length },
    });
    element.onclick = () => {
      clearTimeout(this.#rest);
      this.#active = place;
      this.#opened(run);
    };
    if (row === undefined) {
      element.classList.add("waiting");
      element.append(h("span", { className: "row-title" }, `Run ${formatCount(run)}`));
      return element;
    }
    const [label, words] = ENDINGS[row.ending];
    element.append(
      h("span", { className: "row-title" }, row.title),
      h(
        "span",
        { className: "row-facts" },
        h("span", {}, `#${row.run}`),
        h("span", {}, row.kind === "track" ? `track, ${formatCount(row.contextLength)} + ${formatCount(row.answerLength)}` : `${formatCount(row.contextLength)} + ${formatCount(row.answerLength)} tokens`),
        row.uses > 0 && h("span", {}, `used ${formatCount(row.uses)}×`),
        h("span", { className: `row-end ${row.ending}`, title: words }, label),
      ),
    );
    return element;
  }

  #key(event: KeyboardEvent): void {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") {
      if (this.#active < 0) return;
      event.preventDefault();
      clearTimeout(this.#rest);
      this.#opened(this.#listing.at(this.#active));
      return;
    }
    const to = moveBy(event.key, this.#active, this.#geometry());
    if (to === undefined) return;
    event.preventDefault();
    this.#activate(to);
  }

  #activate(place: number): void {
    this.#active = place;
    this.element.scrollTop = reveal(this.#geometry(), this.element.scrollTop, place);
    this.draw();
    clearTimeout(this.#rest);
    // Only where the arrows come to rest: a held key passes hundreds of rows.
    this.#rest = window.setTimeout(() => this.#moved(this.#listing.at(place)), 150);
  }
}
