import type { MrailMap } from "mrail";
import { FailureError } from "../failure.ts";
import type { SearchResult } from "../protocol.ts";
import type { Vocabulary } from "../text/vocabulary.ts";
import { breathe, type Call } from "./serve.ts";

/** How long the worker searches before it looks at its messages again. */
const STRETCH_MS = 20;

/**
 * Runs whose text contains the query, whatever the case; `ids: 1 9690 198` looks for tokens instead.
 *
 * The text of a million runs is not kept anywhere: it is decoded while searching. Runs are reported as they are found,
 * and a search that nobody waits for any more ends within one stretch. A track is found by its source only, since its
 * tokens lie in a context that is not in the map.
 */
export async function search(map: MrailMap, query: string, vocabulary: Vocabulary, call: Call): Promise<SearchResult> {
  const total = map.info().runs;
  const next = matcher(map, query, vocabulary, total);
  let found = 0;
  let batch: number[] = [];
  let run = 0;
  while (run < total) {
    const until = performance.now() + STRETCH_MS;
    while (run < total && performance.now() < until) {
      const { hit, from } = next(run);
      if (hit !== undefined) batch.push(hit);
      run = from;
    }
    found += batch.length;
    call.progress({ done: run, total, found: Uint32Array.from(batch) });
    batch = [];
    await breathe(call.signal);
  }
  return { searched: total, found };
}

/** One step from a run on: a hit, if there was one, and where to go on. */
type Step = (run: number) => { hit?: number; from: number };

function matcher(map: MrailMap, query: string, vocabulary: Vocabulary, total: number): Step {
  const ids = /^\s*ids?:(.*)$/i.exec(query);
  if (ids) {
    const needle = parseIds(ids[1]!);
    return (run) => {
      const hit = map.findTokens(needle, run);
      return hit === undefined ? { from: total } : { hit, from: hit + 1 };
    };
  }
  const wanted = query.trim().toLowerCase();
  const decode = new RunText(vocabulary);
  return (run) => {
    const found = map.runTokens(run);
    const text = found ? decode.text(found.tokens) : (map.run(run)?.source ?? "");
    return text.toLowerCase().includes(wanted) ? { hit: run, from: run + 1 } : { from: run + 1 };
  };
}

function parseIds(list: string): Uint32Array {
  const words = list.split(/[\s,]+/).filter((word) => word !== "");
  const ids = words.map(Number);
  if (ids.length === 0 || ids.some((id) => !Number.isInteger(id) || id < 0 || id > 0xffff_ffff)) {
    throw new FailureError({ kind: "invalid-argument", message: "After “ids:” there must be token ids, numbers with spaces between them." });
  }
  return Uint32Array.from(ids);
}

/** Decodes whole runs into one buffer: one call of the decoder a run, not one a token. */
class RunText {
  readonly #vocabulary: Vocabulary;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #buffer = new Uint8Array(1 << 16);

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary;
  }

  text(ids: Uint32Array): string {
    let length = 0;
    for (const id of ids) {
      const token = this.#vocabulary.token(id);
      // Nothing is found across a control token: its place is held by a byte that nobody types.
      const bytes = token.kind === "bytes" ? token.bytes : GAP;
      if (length + bytes.length > this.#buffer.length) {
        const larger = new Uint8Array(2 * this.#buffer.length + bytes.length);
        larger.set(this.#buffer);
        this.#buffer = larger;
      }
      this.#buffer.set(bytes, length);
      length += bytes.length;
    }
    return this.#decoder.decode(this.#buffer.subarray(0, length));
  }
}

const GAP = Uint8Array.of(0);
