import type { MrailMap } from "mrail";
import type { Asked, DraftNode } from "../protocol.ts";
import { textOf } from "../text/stream.ts";
import type { Message } from "../text/template.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import { turns } from "../text/turns.ts";
import { measure } from "./measure.ts";
import { tokenText } from "./runs.ts";

/** No limit: a run ends by itself. */
const WHOLE = 0xffff_ffff;
const DRAFT_NODES = 24;

/** Asks a map what the model would answer: exactly what it did answer, or where the map's knowledge of the prompt ends. */
export function ask(map: MrailMap, trusted: boolean, messages: Message[], tokenizer: Tokenizer): Asked {
  const { vocabulary, stop } = tokenizer;
  const text = tokenizer.template.render(messages);
  const ids = tokenizer.encode(text);
  const { shared, lcp } = map.locate(ids);
  const answer = trusted ? map.exactAnswer(ids, WHOLE, stop) : undefined;
  const common = {
    ids,
    shared,
    prompt: turns(ids, shared, vocabulary),
    // Some prompts are long: few calls are enough for times of milliseconds.
    tokenizing: measure(() => tokenizer.encode(text), undefined, 2, 3),
  };
  if (answer === undefined) {
    const whole = lcp === ids.length;
    return { ...common, refused: !trusted && whole ? "foreign" : "unknown", draft: draft(map, ids, tokenizer) };
  }
  return {
    ...common,
    draft: [],
    answer: {
      turns: turns(answer.tokens, 0, vocabulary),
      text: textOf(answer.tokens, vocabulary),
      tokens: answer.tokens.length,
      end: answer.end,
      run: answer.run,
      // The whole way of an answer: find the prompt, copy the tokens out.
      time: measure(() => {
        map.locate(ids);
        map.exactAnswer(ids, WHOLE, stop);
      }),
    },
  };
}

function draft(map: MrailMap, ids: Uint32Array, { vocabulary }: Tokenizer): DraftNode[] {
  const { tokens, parents } = map.draftTree(ids, DRAFT_NODES);
  return Array.from(tokens, (id, i) => ({ text: tokenText(id, vocabulary), parent: parents[i]! }));
}
