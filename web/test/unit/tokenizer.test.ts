import { describe, expect, it } from "vitest";
import { pack, unpack, type TokenizerJson } from "../../src/text/pack.ts";
import { ALL_ROWS, json, tokenizer } from "./data.ts";

const golden = json<{ name: string; text: string; ids: number[] }[]>("tokenizer/golden.json");

describe("encoding gives llama.cpp's ids", () => {
  it.each(golden)("$name", ({ text, ids }) => {
    expect([...tokenizer().encode(text)]).toEqual(ids);
  });

  it("for every prompt of the sample maps", () => {
    expect(ALL_ROWS.length).toBe(278);
    for (const { id, prompt, prompt_text } of ALL_ROWS) expect([...tokenizer().encode(prompt_text)], id).toEqual(prompt);
  });

  it("and the comparison can fail", () => {
    const { ids } = golden.find(({ name }) => name === "digits")!;
    expect([...tokenizer().encode("0 1 12 123 1234 1234567890123456789")]).not.toEqual(ids);
  });
});

describe("packing", () => {
  const original = json<TokenizerJson>("tokenizer/tokenizer.json");

  it("loses nothing and is a seventh of the size", () => {
    const packed = pack(original);
    expect(unpack(packed)).toEqual(original);
    expect(packed.length).toBeLessThan(210_000);
  });

  it("reads at an odd offset", () => {
    const packed = pack(original);
    const shifted = new Uint8Array(packed.length + 1);
    shifted.set(packed, 1);
    expect(unpack(shifted.subarray(1)).model.merges.length).toBe(48_900);
  });

  it("refuses a vocabulary that does not follow from the merges", () => {
    const { model } = original;
    const swapped = { ...original, model: { ...model, merges: [model.merges[1]!, model.merges[0]!, ...model.merges.slice(2)] } };
    expect(() => pack(swapped)).toThrow(/token 252 does not follow/);
  });
});
