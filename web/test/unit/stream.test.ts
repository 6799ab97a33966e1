import { describe, expect, it } from "vitest";
import { TextStream, textOf } from "../../src/text/stream.ts";
import { ALL_ROWS, json, tokenizer } from "./data.ts";

const { vocabulary } = tokenizer();
const golden = json<{ name: string; text: string; ids: number[] }[]>("tokenizer/golden.json");
// A byte that has no token is left out when encoding: such texts cannot come back. (They are also llama.cpp's.)
const lossy = ["private and last planes", "control characters"];

describe("decoding", () => {
  it("gives back every answer of the sample maps, stop token by name", () => {
    for (const { id, answer, answer_text } of ALL_ROWS) expect(textOf(answer, vocabulary, { specials: true }), id).toBe(answer_text);
  });

  it.each(golden.filter(({ name }) => !lossy.includes(name)))("gives back: $name", ({ text, ids }) => {
    expect(textOf(ids, vocabulary, { specials: true })).toBe(text);
  });

  it("never gives half a character: pieces are whole, and together they are the text", () => {
    let waited = 0;
    for (const { name, text, ids } of golden) {
      if (lossy.includes(name)) continue;
      const stream = new TextStream(vocabulary, { specials: true });
      const pieces = ids.map((id) => stream.push(id));
      waited += pieces.filter((piece) => piece === "").length;
      expect([...pieces, stream.end()].join("")).toBe(text);
      if (!text.includes("\ufffd")) for (const piece of pieces) expect(piece).not.toContain("\ufffd");
      // Half a character in UTF-16 is half a character too.
      for (const piece of pieces) expect(piece.isWellFormed(), name).toBe(true);
    }
    // Otherwise nothing here ended inside a character, and the test would be idle.
    expect(waited).toBeGreaterThan(20);
  });

  it("shows an unfinished character at the end, or before a control token, as U+FFFD", () => {
    const emoji = tokenizer().encode("👩");
    expect(emoji.length).toBeGreaterThan(1);
    expect(textOf(emoji.slice(0, -1), vocabulary)).toBe("\ufffd");
    expect(textOf([emoji[0]!, 2, ...tokenizer().encode("a")], vocabulary, { specials: true })).toBe("\ufffd<|im_end|>a");
  });

  it("says which ids are no tokens", () => {
    expect(vocabulary.token(49_151).kind).toBe("bytes");
    expect(vocabulary.token(49_152).kind).toBe("outside");
    expect(vocabulary.token(0xffff_ffff).kind).toBe("outside");
    expect(vocabulary.token(2)).toEqual({ kind: "special", name: "<|im_end|>" });
  });
});
