import type { Vocabulary } from "./vocabulary.ts";

/**
 * Tokens to text, piece by piece. What `push` gives is always whole characters: bytes of an unfinished character wait
 * for the next token. All pieces and the `end` together are the text of the whole.
 */
export class TextStream {
  readonly #vocabulary: Vocabulary;
  readonly #specials: boolean;
  #decoder = newDecoder();

  /** With `specials`, control tokens come out by name, as llama.cpp writes them; otherwise they are left out. */
  constructor(vocabulary: Vocabulary, { specials = false } = {}) {
    this.#vocabulary = vocabulary;
    this.#specials = specials;
  }

  push(id: number): string {
    const token = this.#vocabulary.token(id);
    if (token.kind === "bytes") return this.#decoder.decode(token.bytes, { stream: true });
    // No character goes on across a control token.
    return this.end() + (this.#specials && token.kind === "special" ? token.name : "");
  }

  /** An unfinished character at the end comes out as U+FFFD. */
  end(): string {
    return this.#decoder.decode();
  }
}

/** A byte order mark is a character like any other here. */
function newDecoder(): TextDecoder {
  return new TextDecoder("utf-8", { ignoreBOM: true });
}

export function textOf(ids: Iterable<number>, vocabulary: Vocabulary, options?: { specials?: boolean }): string {
  const stream = new TextStream(vocabulary, options);
  let text = "";
  for (const id of ids) text += stream.push(id);
  return text + stream.end();
}
