import type { Message } from "./template.ts";
import { TextStream } from "./stream.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** A stretch of text of one kind. */
export interface Piece {
  kind: "text" | "special" | "outside";
  text: string;
  /** At or after the boundary: the answer in a run, the unknown part in a prompt. */
  after: boolean;
}

/** One speaker's part. A text that is no conversation is one turn without a role. */
export interface Turn {
  role: string;
  pieces: Piece[];
}

const START = "<|im_start|>";

/** Tokens as the turns of a conversation, with the place where `boundary` tokens are over kept apart. */
export function turns(ids: Uint32Array, boundary: number, vocabulary: Vocabulary): Turn[] {
  const all: Turn[] = [];
  for (const piece of pieces(ids, boundary, vocabulary)) {
    const opens = piece.kind === "special" && piece.text === START;
    if (opens || all.length === 0) all.push({ role: "", pieces: [] });
    all.at(-1)!.pieces.push(piece);
  }
  for (const turn of all) nameTurn(turn);
  return all;
}

function pieces(ids: Uint32Array, boundary: number, vocabulary: Vocabulary): Piece[] {
  const found: Piece[] = [];
  const stream = new TextStream(vocabulary);
  let text = "";
  const flush = (after: boolean): void => {
    if (text !== "") found.push({ kind: "text", text, after });
    text = "";
  };
  ids.forEach((id, at) => {
    // A character that the boundary cuts in two belongs to what comes after.
    if (at === boundary) flush(false);
    const after = at >= boundary;
    const token = vocabulary.token(id);
    if (token.kind === "bytes") {
      text += stream.push(id);
      return;
    }
    text += stream.end();
    flush(after);
    found.push({ kind: token.kind, text: token.kind === "special" ? token.name : String(id), after });
  });
  text += stream.end();
  flush(ids.length > boundary);
  return found;
}

/** Takes `role\n` off the text that follows the start token. */
function nameTurn(turn: Turn): void {
  const [start, first] = turn.pieces;
  if (start?.text !== START || first?.kind !== "text") return;
  const end = first.text.indexOf("\n");
  if (end < 0) return;
  turn.role = first.text.slice(0, end);
  first.text = first.text.slice(end + 1);
  if (first.text === "") turn.pieces.splice(1, 1);
}

/** The conversation that a context is, for asking it again; undefined when it is none. */
export function conversation(context: Turn[]): Message[] | undefined {
  // The last turn is the assistant's, opened for the answer.
  if (context.at(-1)?.role !== "assistant") return undefined;
  const messages: Message[] = [];
  for (const { role, pieces: parts } of context.slice(0, -1)) {
    if (role !== "system" && role !== "user" && role !== "assistant") return undefined;
    messages.push({ role, content: parts.flatMap((part, i) => (part.kind === "text" && i === 1 ? [part.text] : [])).join("") });
  }
  return messages.at(-1)?.role === "user" ? messages : undefined;
}
