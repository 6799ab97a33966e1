import { FailureError, type Failure } from "../failure.ts";

/** `MRAIL`, version 3 as a little-endian 16-bit number, and a zero byte. */
const MAGIC = [0x4d, 0x52, 0x41, 0x49, 0x4c, 3, 0, 0];

/** Bytes of the start of a file that are enough for `notAMap`. */
export const HEAD = 512;

/** First bytes of files that people take for maps. */
const OTHERS: readonly [start: string, what: string, advice: string][] = [
  ["GGUF", "a GGUF model file", "Maps are separate files, written by a run time while the model answers; their names end in .mrail."],
  ["\x1f\x8b", "gzip data", "Unpack it first (gunzip), then open the .mrail file inside."],
  ["PK\x03\x04", "a zip archive", "Unpack it first, then open the .mrail file inside."],
  ["\x28\xb5\x2f\xfd", "Zstandard data", "Unpack it first (unzstd), then open the .mrail file inside."],
  ["version https://git-lfs", "a Git LFS pointer, not the file itself", "Fetch the file itself with `git lfs pull`."],
  ["%PDF", "a PDF document", "Choose the .mrail file instead."],
  ["\x89PNG", "a PNG picture", "Choose the .mrail file instead."],
];

/** Why bytes that start with `head` are no map; undefined when they are one, as far as that shows. */
export function notAMap(head: Uint8Array, name: string): Failure | undefined {
  if (MAGIC.every((byte, i) => head[i] === byte)) return undefined;
  const fail = (what: string, advice: string): Failure => ({ kind: "not-a-map", message: `${name} is no map: ${what}.`, advice });

  if (head.length === 0) return fail("it is empty", "The download or copy may have been interrupted: fetch it again.");
  const text = String.fromCharCode(...head.subarray(0, HEAD));
  if (text.startsWith("MRAIL")) {
    const version = (head[5] ?? 0) | ((head[6] ?? 0) << 8);
    if (head.length < MAGIC.length) return fail("it ends inside its own header", "Fetch the file again.");
    return fail(`it says format version ${version}, this page reads version 3`, "Use the tools that wrote it, or a newer page.");
  }
  if (/^\s*(<!doctype|<html|<head|<\?xml|<!--)/i.test(text.replace(/^\xef\xbb\xbf/, ""))) {
    return fail("it is a web page (HTML)", "Servers send one in place of a missing file, and code hosts send a page about the file: use the link to the raw file.");
  }
  for (const [start, what, advice] of OTHERS) if (text.startsWith(start)) return fail(`it is ${what}`, advice);
  if (/^\s*[[{]/.test(text)) return fail("it looks like JSON", "Choose the .mrail file instead.");
  return fail("it does not start like one (MRAIL, version 3)", "Choose a file whose name ends in .mrail.");
}

export function requireMap(head: Uint8Array, name: string): void {
  const failure = notAMap(head, name);
  if (failure) throw new FailureError(failure);
}
