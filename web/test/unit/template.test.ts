import { describe, expect, it } from "vitest";
import { ChatTemplate, type Message } from "../../src/text/template.ts";
import type { TokenizerConfig } from "../../src/text/tokenizer.ts";
import { ALL_ROWS, json, type Row } from "./data.ts";

const source = json<TokenizerConfig>("tokenizer/tokenizer_config.json").chat_template;
const template = new ChatTemplate(source);
const SENIOR =
  "You are a careful senior programmer. Answer briefly, show code first, then explain it in one sentence. Never invent functions that do not exist.";

/** What was said before a turn of a conversation ("conv3.2"), from the rows of the turns before it. */
function messages({ id, request }: Row): Message[] {
  const turn = /^conv(\d+)\.(\d+)$/.exec(id);
  if (!turn) return [{ role: "user", content: request }];
  const before = Array.from({ length: Number(turn[2]) }, (_, i) => ALL_ROWS.find((row) => row.id === `conv${turn[1]}.${i}`)!);
  return [
    { role: "system", content: SENIOR },
    ...before.flatMap((row): Message[] => [
      { role: "user", content: row.request },
      { role: "assistant", content: row.answer_text.replace(/<\|im_end\|>$/, "") },
    ]),
    { role: "user", content: request },
  ];
}

describe("the chat template", () => {
  it("lays out every prompt of the sample maps to the letter", () => {
    for (const row of ALL_ROWS) expect(template.render(messages(row)), row.id).toBe(row.prompt_text);
    expect(ALL_ROWS.filter(({ id }) => id.startsWith("conv")).length).toBe(48);
  });

  it("keeps spaces and line ends of what was written", () => {
    expect(template.render([{ role: "user", content: " a\r\n\n " }])).toContain("<|im_start|>user\n a\r\n\n <|im_end|>\n");
  });

  it("puts nothing before a system message that is given", () => {
    expect(template.render([{ role: "system", content: "x" }, { role: "user", content: "y" }])).toMatch(/^<\|im_start\|>system\nx<\|im_end\|>/);
  });

  it.each([
    ["another family", "{{ bos_token }}{% for m in messages %}[INST] {{ m.content }} [/INST]{% endfor %}"],
    ["one more newline", source.replace("'<|im_end|>' + '\n'", "'<|im_end|>' + '\n\n'")],
    ["something before", `{{ bos_token }}${source}`],
    ["something after", `${source} `],
  ])("is an error when it is of %s", (_, changed) => {
    expect(changed).not.toBe(source);
    expect(() => new ChatTemplate(changed)).toThrow(/family/);
  });
});
