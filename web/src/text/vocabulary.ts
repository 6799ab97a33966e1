import type { TokenizerJson } from "./pack.ts";

/** What a token id stands for. */
export type Token =
  | { kind: "bytes"; bytes: Uint8Array }
  /** A control token such as `<|im_end|>`: never part of what anybody wrote. */
  | { kind: "special"; name: string }
  /** No token of this tokenizer: the map is of another model, or damaged. */
  | { kind: "outside" };

const OUTSIDE: Token = { kind: "outside" };

/** Token ids to bytes. Tokens of a byte-level BPE are pieces of UTF-8, not of text: one may end inside a character. */
export class Vocabulary {
  readonly size: number;
  readonly #names: string[] = [];
  readonly #special = new Set<number>();
  readonly #known = new Map<number, Token>();

  constructor(tokenizer: TokenizerJson) {
    for (const [name, id] of Object.entries(tokenizer.model.vocab)) this.#names[id] = name;
    for (const { id, content, special } of tokenizer.added_tokens) {
      this.#names[id] = content;
      if (special) this.#special.add(id);
    }
    this.size = this.#names.length;
  }

  token(id: number): Token {
    let token = this.#known.get(id);
    if (token === undefined) {
      token = this.#make(id);
      // Only the vocabulary's own ids are kept: a damaged map can hold any number of others.
      if (token !== OUTSIDE) this.#known.set(id, token);
    }
    return token;
  }

  #make(id: number): Token {
    const name = this.#names[id];
    if (name === undefined) return OUTSIDE;
    if (this.#special.has(id)) return { kind: "special", name };
    return { kind: "bytes", bytes: Uint8Array.from(name, (character) => BYTE_OF.get(character) ?? 0x3f) };
  }
}

/**
 * Byte-level BPE writes each byte as one printable character: printable Latin-1 as itself, the other 68 bytes as the
 * characters from U+0100 on, in order.
 */
const BYTE_OF: ReadonlyMap<string, number> = (() => {
  const printable = (byte: number): boolean =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
  const table = new Map<string, number>();
  let next = 0x100;
  for (let byte = 0; byte < 256; byte++) table.set(String.fromCharCode(printable(byte) ? byte : next++), byte);
  return table;
})();
