import type { MrailMap } from "mrail";
import { FailureError } from "../failure.ts";
import type { Opened, Source } from "../protocol.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import { ask } from "./ask.ts";
import { readBlob, toBlob } from "./read-source.ts";
import { row, suggest, tokenTexts, view } from "./runs.ts";
import { search } from "./search.ts";
import type { Call, Handlers } from "./serve.ts";

/** What a session needs from outside; tests bring their own. */
export interface Engine {
  open(bytes: Uint8Array, trusted: boolean): MrailMap;
  tokenizer: Tokenizer;
}

/** An open map, what it was read from, and what was said about it. */
interface Open {
  map: MrailMap;
  blob: Blob;
  name: string;
  trusted: boolean;
}

/** The calls of the protocol over one open map. `engine` is awaited by each, so that a failure to load reaches every caller. */
export function handlers(engine: () => Promise<Engine>): Handlers {
  let current: Open | undefined;

  const held = (): Open => {
    if (current === undefined) throw new FailureError({ kind: "no-map", message: "No map is open.", advice: "Open the map again." });
    return current;
  };

  const install = async (blob: Blob, name: string, trusted: boolean, { signal }: Call): Promise<Opened> => {
    const { open, tokenizer } = await engine();
    const bytes = await readBlob(blob, name);
    signal.throwIfAborted();
    const map = open(bytes, trusted);
    // The map before goes only now: a map that does not open leaves it in place.
    current?.map.free();
    current = { map, blob, name, trusted };
    const info = map.info();
    return { name, trusted, info, problems: problems(map, info.problems), tokenizer: tokenizer.model };
  };

  return {
    open: async (call, source: Source, trusted) => install(await toBlob(source, call), source.name, trusted, call),
    declare: (call, trusted) => install(held().blob, held().name, trusted, call),
    rows: async (_, runs) => {
      const { tokenizer } = await engine();
      const { map } = held();
      return Array.from(runs, (run) => row(map, run, tokenizer));
    },
    run: async (_, run) => {
      const { tokenizer } = await engine();
      return view(held().map, run, tokenizer);
    },
    tokens: async (_, ids) => tokenTexts(ids, (await engine()).tokenizer.vocabulary),
    search: async (call, query) => {
      const { tokenizer } = await engine();
      return search(held().map, query, tokenizer.vocabulary, call);
    },
    ask: async (_, messages) => {
      const { tokenizer } = await engine();
      const { map, trusted } = held();
      return ask(map, trusted, messages, tokenizer);
    },
    suggest: async (_, count) => {
      const { tokenizer } = await engine();
      return suggest(held().map, count, tokenizer);
    },
  };
}

/** The first few records that were skipped, with the reason. */
function problems(map: MrailMap, expected: number): Opened["problems"] {
  const found: Opened["problems"] = [];
  const page = 1000;
  const enough = Math.min(expected, 20);
  for (let start = 0; found.length < enough; start += page) {
    const records = map.records(start, page);
    for (const { offset, name, problem } of records) if (problem !== undefined) found.push({ offset, name, problem });
    if (records.length < page) break;
  }
  return found.slice(0, enough);
}
