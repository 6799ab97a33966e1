import { FailureError, type Failure } from "../failure.ts";
import { formatBytes } from "../format.ts";
import { HEAD, requireMap } from "./sniff.ts";

/** What is fetched, in words, and how it is told from something else by its first bytes. */
export interface FileKind {
  require(head: Uint8Array, name: string): void;
  /** "Maps" */
  many: string;
  /** "a .mrail file" */
  one: string;
  /** Where a file of this computer is opened. */
  open: string;
}

export const MAP: FileKind = { require: requireMap, many: "Maps", one: "a .mrail file", open: "“Open a map”" };

const BY_HAND = "Or download the file yourself and drop it here.";

/** Only what a download needs of a call. */
export interface Download {
  signal: AbortSignal;
  progress(progress: { done: number; total?: number }): void;
}

/**
 * A file from the network as a Blob (which a browser may keep on disk), with progress.
 *
 * The first bytes are looked at as soon as they are there: a page that says "not found" with status 200 is recognised
 * before gigabytes of something else have been loaded.
 */
export async function fetchFile(kind: FileKind, url: string, name: string, call: Download, get: typeof fetch = fetch): Promise<Blob> {
  const response = await request(kind, url, call, get);
  if (!response.ok) throw new FailureError(refused(response.status, url));

  // With a content encoding the length is that of the encoded body: no use for progress.
  const encoded = response.headers.get("content-encoding");
  const length = encoded === null ? Number(response.headers.get("content-length") ?? NaN) : NaN;
  const total = Number.isFinite(length) ? length : undefined;

  const parts: Uint8Array<ArrayBuffer>[] = [];
  let head = new Uint8Array(0);
  let done = 0;
  let looked = false;
  try {
    const reader = response.body?.getReader();
    for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
      parts.push(part.value);
      done += part.value.length;
      if (!looked) head = join(head, part.value.subarray(0, HEAD - head.length));
      if (!looked && head.length >= HEAD) {
        looked = true;
        kind.require(head, name);
      }
      call.progress(total === undefined ? { done } : { done, total });
    }
  } catch (thrown) {
    if (thrown instanceof FailureError || call.signal.aborted) throw thrown;
    throw new FailureError(interrupted(name, done, total));
  }
  if (total !== undefined && done < total) throw new FailureError(interrupted(name, done, total));
  if (!looked) kind.require(head, name);
  return new Blob(parts);
}

async function request(kind: FileKind, url: string, { signal }: Download, get: typeof fetch): Promise<Response> {
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    throw new FailureError({ kind: "address", message: `“${url}” is no address.`, advice: `Give the whole address of ${kind.one}.` });
  }
  if (!/^(https?|blob):$/.test(parsed.protocol)) {
    throw new FailureError({
      kind: "address",
      message: `${kind.many} are loaded from http and https addresses, this one begins with ${parsed.protocol}`,
      advice: `For a file on this computer, use ${kind.open} or drop it here.`,
    });
  }
  try {
    // A copy in the cache is asked about first: it may be a page that once stood in the file's place.
    return await get(url, { signal, cache: "no-cache", credentials: "same-origin" });
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    throw new FailureError({
      kind: "network",
      message: `${parsed.host} could not be read from this page.`,
      // The browser does not tell a page which of these it was.
      advice: `Either it cannot be reached, or it does not let other sites read its files (it sends no CORS header). ${BY_HAND}`,
    });
  }
}

function refused(status: number, url: string): Failure {
  const { host, pathname } = new URL(url);
  const kind = "http";
  if (status === 404 || status === 410) {
    return { kind, message: `${host} has no file ${pathname} (it answered ${status}).`, advice: "Check the address, letter by letter." };
  }
  if (status === 401 || status === 403) {
    return { kind, message: `${host} does not give this file out (it answered ${status}).`, advice: `It may want you to sign in. ${BY_HAND}` };
  }
  return { kind, message: `${host} answered with an error (${status}).`, advice: `Try again later. ${BY_HAND}` };
}

function interrupted(name: string, done: number, total: number | undefined): Failure {
  const of = total === undefined ? "" : ` of ${formatBytes(total)}`;
  return { kind: "interrupted", message: `The connection ended after ${formatBytes(done)}${of} of ${name}.`, advice: `Try again. ${BY_HAND}` };
}

function join(a: Uint8Array<ArrayBuffer>, b: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
