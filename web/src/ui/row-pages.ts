import type { RunRow } from "../protocol.ts";

/** Which run stands at which place of the list: all of them, or those that a search has found so far. */
export interface Listing {
  readonly length: number;
  at(place: number): number;
}

/** Every run in order, without an array of a million numbers. */
export function everyRun(count: number): Listing {
  return { length: count, at: (place) => place };
}

/** Found runs, four bytes each, grown by doubling. */
export class FoundRuns implements Listing {
  length = 0;
  #runs = new Uint32Array(64);

  add(more: Uint32Array): void {
    if (this.length + more.length > this.#runs.length) {
      const larger = new Uint32Array(2 * (this.length + more.length));
      larger.set(this.#runs.subarray(0, this.length));
      this.#runs = larger;
    }
    this.#runs.set(more, this.length);
    this.length += more.length;
  }

  at(place: number): number {
    return this.#runs[place]!;
  }
}

const PAGE = 50;
const PAGES = 40;

/** Rows by page: asked for when they come into view, forgotten when others have been looked at since. */
export class RowPages {
  readonly #fetch: (runs: Uint32Array) => Promise<RunRow[]>;
  readonly #arrived: () => void;
  readonly #failed: (thrown: unknown) => void;
  /** In order of last use. */
  readonly #pages = new Map<number, RunRow[] | "asked">();
  #listing: Listing = everyRun(0);
  #generation = 0;

  constructor(fetch: (runs: Uint32Array) => Promise<RunRow[]>, arrived: () => void, failed: (thrown: unknown) => void) {
    this.#fetch = fetch;
    this.#arrived = arrived;
    this.#failed = failed;
  }

  show(listing: Listing): void {
    this.#listing = listing;
    this.#pages.clear();
    this.#generation++;
  }

  /** The list got longer at its end: only a page that was not full is out of date. */
  grown(from: number): void {
    this.#pages.delete(Math.floor(from / PAGE));
  }

  row(place: number): RunRow | undefined {
    const number = Math.floor(place / PAGE);
    const page = this.#pages.get(number);
    if (page === undefined) {
      void this.#ask(number);
      return undefined;
    }
    this.#pages.delete(number);
    this.#pages.set(number, page);
    return page === "asked" ? undefined : page[place % PAGE];
  }

  async #ask(number: number): Promise<void> {
    const generation = this.#generation;
    const start = number * PAGE;
    const runs = Uint32Array.from({ length: Math.min(PAGE, this.#listing.length - start) }, (_, i) => this.#listing.at(start + i));
    this.#pages.set(number, "asked");
    for (const oldest of this.#pages.keys()) {
      if (this.#pages.size <= PAGES) break;
      this.#pages.delete(oldest);
    }
    try {
      const rows = await this.#fetch(runs);
      if (generation !== this.#generation || !this.#pages.has(number)) return;
      this.#pages.set(number, rows);
      this.#arrived();
    } catch (thrown) {
      if (generation !== this.#generation) return;
      this.#pages.delete(number);
      this.#failed(thrown);
    }
  }
}
