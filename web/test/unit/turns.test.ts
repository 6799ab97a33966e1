import { describe, expect, it } from "vitest";
import { conversation, turns } from "../../src/text/turns.ts";
import { ALL_ROWS, tokenizer } from "./data.ts";

const { vocabulary, template } = tokenizer();
const encode = (text: string): Uint32Array => tokenizer().encode(text);

describe("turns", () => {
  const { prompt, answer, request } = ALL_ROWS[0]!;
  const run = turns(Uint32Array.from([...prompt, ...answer]), prompt.length, vocabulary);

  it("tells speakers apart, and the answer from what was given", () => {
    expect(run.map(({ role }) => role)).toEqual(["system", "user", "assistant"]);
    expect(run[1]!.pieces.map(({ text }) => text)).toEqual(["<|im_start|>", request, "<|im_end|>", "\n"]);
    expect(run[2]!.pieces.map(({ kind, after }) => [kind, after])).toEqual([["special", false], ["text", true], ["special", true]]);
  });

  it("keeps every character", () => {
    const text = run.map(({ role, pieces }) => pieces.map((piece, i) => (i === 0 ? `${piece.text}${role}\n` : piece.text)).join("")).join("");
    expect(text).toBe(ALL_ROWS[0]!.prompt_text + ALL_ROWS[0]!.answer_text);
  });

  it("ends what comes before the boundary at the boundary", () => {
    const ids = encode("one two three");
    expect(ids.length).toBe(3);
    const [turn] = turns(ids, 2, vocabulary);
    expect(turn!.pieces).toEqual([{ kind: "text", text: "one two", after: false }, { kind: "text", text: " three", after: true }]);
  });

  it("gives a character that the boundary cuts to the part behind it", () => {
    const ids = encode("a 👩 b");
    for (let boundary = 0; boundary <= ids.length; boundary++) {
      const [turn] = turns(ids, boundary, vocabulary);
      expect(turn!.pieces.map(({ text }) => text).join("")).toBe("a 👩 b");
      expect(turn!.pieces.some(({ text }) => text.includes("\ufffd"))).toBe(false);
    }
  });

  it("takes a text that is no conversation as one turn without a role, and names ids that are no tokens", () => {
    const plain = turns(Uint32Array.of(...encode("x = 1"), 60_000), 99, vocabulary);
    expect(plain).toEqual([{ role: "", pieces: [{ kind: "text", text: "x = 1", after: false }, { kind: "outside", text: "60000", after: false }] }]);
  });

  it("has nothing for no tokens", () => {
    expect(turns(new Uint32Array(0), 0, vocabulary)).toEqual([]);
  });
});

describe("the conversation of a context", () => {
  it("asked again gives the same prompt, for every run", () => {
    for (const { id, prompt, prompt_text } of ALL_ROWS) {
      const messages = conversation(turns(Uint32Array.from(prompt), prompt.length, vocabulary));
      expect(messages, id).toBeDefined();
      expect(template.render(messages!), id).toBe(prompt_text);
    }
  });

  it.each(["no conversation", "<|im_start|>user\nx<|im_end|>\n", "<|im_start|>tool\nx<|im_end|>\n<|im_start|>assistant\n"])("is none: %j", (text) => {
    expect(conversation(turns(encode(text), 999, vocabulary))).toBeUndefined();
  });
});
