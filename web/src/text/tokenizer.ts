import { Tokenizer as HuggingFace } from "@huggingface/tokenizers";
import { unpack } from "./pack.ts";
import { ChatTemplate } from "./template.ts";
import { Vocabulary } from "./vocabulary.ts";

/** What the extraction script writes beside the tokenizer (tests/data/tokenizer/tokenizer_config.json). */
export interface TokenizerConfig {
  chat_template: string;
  stop_token_ids: number[];
  vocab_size: number;
  model_max_length: number;
  source: { model: string; license: string };
}

/**
 * A model's own way from text to tokens and back: its tokenizer, chat template and stop tokens.
 *
 * Encoding is Hugging Face's JavaScript library: equal to llama.cpp on every golden text, at 37 KB; their Rust crate as
 * a wasm module gives the same ids at many times that. Decoding is ours: it must not cut a character in half.
 */
export class Tokenizer {
  readonly vocabulary: Vocabulary;
  readonly template: ChatTemplate;
  readonly stop: Uint32Array;
  readonly model: string;
  readonly #encoder: HuggingFace;

  constructor(packed: Uint8Array, config: TokenizerConfig) {
    const json = unpack(packed);
    this.vocabulary = new Vocabulary(json);
    if (this.vocabulary.size !== config.vocab_size) {
      throw new Error(`the tokenizer has ${this.vocabulary.size} tokens, its configuration says ${config.vocab_size}`);
    }
    this.template = new ChatTemplate(config.chat_template);
    this.stop = Uint32Array.from(config.stop_token_ids);
    this.model = config.source.model;
    this.#encoder = new HuggingFace(json, config);
  }

  /** Names of control tokens in the text become those tokens, as in the run time that wrote the maps. */
  encode(text: string): Uint32Array {
    return Uint32Array.from(this.#encoder.encode(text, { add_special_tokens: false }).ids);
  }
}
