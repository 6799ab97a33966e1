import { FailureError } from "../failure.ts";
import type { Source } from "../protocol.ts";
import { formatBytes } from "../format.ts";
import { fetchFile, MAP } from "./fetch-file.ts";
import type { Call } from "./serve.ts";
import { HEAD, requireMap } from "./sniff.ts";

/**
 * Largest map that is opened here. It is read whole into the page and copied into the memory of the map reader, whose
 * addresses have 32 bits.
 */
const LARGEST = 1.5e9;

/** The source as a Blob that starts like a map. Nothing but its first bytes has been read from a file after this. */
export async function toBlob(source: Source, call: Call): Promise<Blob> {
  if ("url" in source) return fetchFile(MAP, source.url, source.name, call);
  requireMap(await read(source.file.slice(0, HEAD), source.name), source.name);
  return source.file;
}

/** All bytes of a map. */
export async function readBlob(blob: Blob, name: string): Promise<Uint8Array> {
  if (blob.size > LARGEST) {
    throw new FailureError({
      kind: "too-large",
      message: `${name} has ${formatBytes(blob.size)}; a page can hold maps of up to ${formatBytes(LARGEST)}.`,
      advice: "Use the mrail command line for this one.",
    });
  }
  return read(blob, name);
}

async function read(blob: Blob, name: string): Promise<Uint8Array> {
  try {
    return new Uint8Array(await blob.arrayBuffer());
  } catch (thrown) {
    const why = thrown instanceof DOMException && thrown.name === "NotReadableError" ? "it was changed, moved or removed since it was chosen" : String(thrown);
    throw new FailureError({ kind: "unreadable", message: `${name} could not be read: ${why}.`, advice: "Choose the file again." });
  }
}
