import { FailureError } from "../failure.ts";
import { fetchFile, type Download, type FileKind } from "../worker/fetch-file.ts";

/** Where fetched models are kept between visits. */
const CACHE = "mrail-models-1";
/** How many bytes a kept file should have: a browser may have lost a part. */
const LENGTH = "x-mrail-bytes";

const OTHERS: readonly [start: string, what: string][] = [
  ["MRAIL", "a map; it is attached to a model, after one is loaded"],
  ["PK\x03\x04", "a zip archive (or a PyTorch file)"],
  ["\x1f\x8b", "gzip data"],
  ["version https://git-lfs", "a Git LFS pointer, not the file itself"],
];

/** Refuses what does not begin like a GGUF file. */
export function requireModel(head: Uint8Array, name: string): void {
  const text = String.fromCharCode(...head.subarray(0, 512));
  if (text.startsWith("GGUF")) return;
  const fail = (what: string, advice: string): never => {
    throw new FailureError({ kind: "not-a-model", message: `${name} is no model: ${what}.`, advice });
  };
  if (head.length === 0) fail("it is empty", "The download or copy may have been interrupted: fetch it again.");
  if (/^\s*(<!doctype|<html|<head|<\?xml|<!--)/i.test(text.replace(/^\xef\xbb\xbf/, ""))) {
    fail("it is a web page (HTML)", "Servers send one in place of a missing file, and model hosts send a page about the file: use the link to the file itself.");
  }
  for (const [start, what] of OTHERS) if (text.startsWith(start)) fail(`it is ${what}`, "Choose a file whose name ends in .gguf.");
  fail("it does not start like one (GGUF)", "Choose a file whose name ends in .gguf.");
}

const MODEL: FileKind = { require: requireModel, many: "Models", one: "a .gguf file", open: "“Choose a model”" };

export interface Fetched {
  blob: Blob;
  cache: "hit" | "stored" | "none";
}

/**
 * A model from the network, or from this browser's cache. What is damaged there is dropped and fetched again; where there
 * is no cache, or no room in it, the file stays in memory.
 */
export async function fetchModel(url: string, name: string, call: Download, get: typeof fetch = fetch, storage = cacheStorage()): Promise<Fetched> {
  const cache = await storage?.open(CACHE).catch(() => undefined);
  const kept = await cache?.match(url).catch(() => undefined);
  if (cache && kept) {
    const blob = await kept.blob().catch(() => undefined);
    if (blob && (await isWhole(blob, Number(kept.headers.get(LENGTH))))) return { blob, cache: "hit" };
    await cache.delete(url);
  }
  const blob = await fetchFile(MODEL, url, name, call, get);
  if (!cache) return { blob, cache: "none" };
  try {
    await cache.put(url, new Response(blob, { headers: { [LENGTH]: String(blob.size), "content-type": "application/octet-stream" } }));
    return { blob, cache: "stored" };
  } catch {
    // No room, or not allowed.
    return { blob, cache: "none" };
  }
}

/** Drops what was kept of an address. */
export async function forget(url: string, storage = cacheStorage()): Promise<void> {
  const cache = await storage?.open(CACHE).catch(() => undefined);
  await cache?.delete(url).catch(() => undefined);
}

async function isWhole(blob: Blob, length: number): Promise<boolean> {
  if (blob.size !== length) return false;
  const magic = new Uint8Array(await blob.slice(0, 4).arrayBuffer());
  return String.fromCharCode(...magic) === "GGUF";
}

/** Not there in insecure contexts, and some browsers throw where storage is switched off. */
function cacheStorage(): CacheStorage | undefined {
  try {
    return globalThis.caches;
  } catch {
    return undefined;
  }
}
