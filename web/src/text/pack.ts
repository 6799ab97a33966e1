/**
 * A byte-level BPE tokenizer in a seventh of its JSON.
 *
 * In such a tokenizer the vocabulary is the special tokens, the single bytes, and then one token for each merge, in the
 * order of the merges. So the merges, as pairs of token ids, give the vocabulary as well:
 *
 * ```text
 * header length u32 | header: JSON, the tokenizer without the merged tokens | pairs of ids u16, one pair a merge
 * ```
 *
 * All little-endian. `pack` refuses a tokenizer that is not of this shape; it runs when the page is built.
 */

/** The parts of a Hugging Face tokenizer.json that are touched here. Key order is kept. */
export interface TokenizerJson {
  added_tokens: { id: number; content: string; special: boolean }[];
  model: { type: string; vocab: Record<string, number>; merges: string[]; [key: string]: unknown };
  [key: string]: unknown;
}

/** The tokens in the order of their ids: an object lists keys that look like numbers first, and there are digits among them. */
function byId(vocab: Record<string, number>): string[] {
  const tokens: string[] = [];
  for (const [token, id] of Object.entries(vocab)) tokens[id] = token;
  return tokens;
}

export function pack(tokenizer: TokenizerJson): Uint8Array<ArrayBuffer> {
  const { vocab, merges } = tokenizer.model;
  const tokens = byId(vocab);
  const base = tokens.length - merges.length;
  const wrong = tokens.findIndex((token, id) => vocab[token] !== id || (id >= base && merges[id - base]?.replace(" ", "") !== token));
  if (wrong >= 0) throw new Error(`token ${wrong} does not follow from the merges`);
  if (tokens.length > 0x10000) throw new Error(`${tokens.length} tokens do not fit 16 bits`);

  const first = Object.fromEntries(tokens.slice(0, base).map((token, id) => [token, id]));
  const header = new TextEncoder().encode(
    JSON.stringify({ ...tokenizer, model: { ...tokenizer.model, vocab: first, merges: [] } }),
  );
  const bytes = new Uint8Array(4 + header.length + 4 * merges.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, header.length, true);
  bytes.set(header, 4);
  merges.forEach((merge, i) => {
    const at = 4 + header.length + 4 * i;
    merge.split(" ").forEach((part, side) => view.setUint16(at + 2 * side, vocab[part]!, true));
  });
  return bytes;
}

export function unpack(bytes: Uint8Array): TokenizerJson {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = 4 + view.getUint32(0, true);
  const tokenizer = JSON.parse(new TextDecoder().decode(bytes.subarray(4, end))) as TokenizerJson;
  const { vocab, merges } = tokenizer.model;
  const tokens = byId(vocab);
  for (let at = end; at + 4 <= bytes.length; at += 4) {
    const left = tokens[view.getUint16(at, true)];
    const right = tokens[view.getUint16(at + 2, true)];
    if (left === undefined || right === undefined) throw new Error("a merge names a token that is not there yet");
    vocab[left + right] = tokens.length;
    tokens.push(left + right);
    merges.push(`${left} ${right}`);
  }
  return tokenizer;
}
