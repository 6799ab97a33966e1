import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { pack, type TokenizerJson } from "../../src/text/pack.ts";
import { Tokenizer, type TokenizerConfig } from "../../src/text/tokenizer.ts";

/** A file of tests/data. */
export function data(path: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(readFileSync(fileURLToPath(new URL(`../../../tests/data/${path}`, import.meta.url))));
}

export function json<T>(path: string): T {
  return JSON.parse(new TextDecoder().decode(data(path))) as T;
}

/** One line of the files that say what llama.cpp made of the model: prompt and answer, as text and as tokens. */
export interface Row {
  id: string;
  request: string;
  prompt: number[];
  prompt_text: string;
  answer: number[];
  answer_text: string;
  stopped: boolean;
}

export function rows(...files: string[]): Row[] {
  return files.flatMap((file) =>
    new TextDecoder()
      .decode(data(`maps/${file}`))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Row),
  );
}

export const ALL_ROWS = rows("coding_runs.jsonl", "general_runs.jsonl", "heldout.jsonl");

let made: Tokenizer | undefined;

/** The page's tokenizer, packed and unpacked as on its way to the page. */
export function tokenizer(): Tokenizer {
  made ??= new Tokenizer(pack(json<TokenizerJson>("tokenizer/tokenizer.json")), json<TokenizerConfig>("tokenizer/tokenizer_config.json"));
  return made;
}
