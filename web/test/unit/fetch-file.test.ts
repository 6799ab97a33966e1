import { describe, expect, it } from "vitest";
import { FailureError } from "../../src/failure.ts";
import type { Progress } from "../../src/protocol.ts";
import { fetchFile, MAP } from "../../src/worker/fetch-file.ts";
import { data } from "./data.ts";

const map = data("maps/general.mrail");
const URL_OF_MAP = "https://maps.test/a/general.mrail";

/** A body that comes in pieces, and may break off. */
function body(content: Uint8Array, piece: number, breakAt = Infinity): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= breakAt) return controller.error(new TypeError("network error"));
      if (at >= content.length) return controller.close();
      controller.enqueue(content.slice(at, Math.min(at + piece, content.length)));
      at += piece;
    },
  });
}

interface Server {
  status?: number;
  headers?: Record<string, string>;
  stream?: ReadableStream<Uint8Array>;
  fails?: Error;
}

function load(server: Server, url = URL_OF_MAP, abort = new AbortController()): { blob: Promise<Blob>; seen: Progress[]; asked: RequestInit[] } {
  const seen: Progress[] = [];
  const asked: RequestInit[] = [];
  const get = (async (_: string, init: RequestInit) => {
    asked.push(init);
    if (server.fails) throw server.fails;
    return new Response(server.stream ?? null, { status: server.status ?? 200, headers: server.headers ?? {} });
  }) as typeof fetch;
  const call = { signal: abort.signal, progress: (progress: Progress) => seen.push(progress) };
  return { blob: fetchFile(MAP, url, "general.mrail", call, get), seen, asked };
}

const failure = (promise: Promise<unknown>): Promise<{ kind: string; message: string; advice?: string }> =>
  promise.then(
    () => expect.unreachable(),
    (thrown: unknown) => (thrown as FailureError).failure,
  );

describe("a map from the network", () => {
  it("comes whole, with progress, in pieces of any size", async () => {
    for (const piece of [1, 7, 511, 512, 513, 100_000]) {
      const { blob, seen } = load({ stream: body(map, piece), headers: { "content-length": String(map.length) } });
      expect(new Uint8Array(await (await blob).arrayBuffer())).toEqual(map);
      expect(seen.at(-1)).toEqual({ done: map.length, total: map.length });
    }
  });

  it("has no total where the length is unknown or that of a compressed body", async () => {
    for (const headers of [{}, { "content-encoding": "gzip", "content-length": "99" }]) {
      const { blob, seen } = load({ stream: body(map, 5000), headers });
      expect((await blob).size).toBe(map.length);
      expect(seen.at(-1)).toEqual({ done: map.length });
    }
  });

  it("is asked for anew when it may have changed", async () => {
    const { blob, asked } = load({ stream: body(map, 5000) });
    await blob;
    expect(asked[0]!.cache).toBe("no-cache");
  });
});

describe("what goes wrong is said", () => {
  it.each([
    [404, /has no file \/a\/general\.mrail/],
    [410, /has no file/],
    [403, /does not give this file out/],
    [500, /error \(500\)/],
  ])("HTTP %d", async (status, message) => {
    expect(await failure(load({ status }).blob)).toMatchObject({ kind: "http", message: expect.stringMatching(message) as string });
  });

  it("no connection, or no permission (CORS): both, since a page cannot tell them apart", async () => {
    const said = await failure(load({ fails: new TypeError("Failed to fetch") }).blob);
    expect(said.kind).toBe("network");
    expect(said.message).toContain("maps.test");
    expect(said.advice).toMatch(/CORS/);
  });

  it("a web page in the map's place, before the rest of it is loaded", async () => {
    const page = new Uint8Array(1e6).fill(0x20);
    page.set(new TextEncoder().encode("<!doctype html>"));
    const { blob, seen } = load({ stream: body(page, 1000) });
    expect(await failure(blob)).toMatchObject({ kind: "not-a-map", message: expect.stringMatching(/web page/) as string });
    expect(seen.length).toBeLessThan(3);
  });

  it("a short web page, an empty body", async () => {
    expect((await failure(load({ stream: body(new TextEncoder().encode("<html>"), 3) }).blob)).kind).toBe("not-a-map");
    expect((await failure(load({ stream: body(new Uint8Array(0), 1) }).blob)).message).toMatch(/empty/);
    expect((await failure(load({}).blob)).message).toMatch(/empty/);
  });

  it("a connection that breaks off, with both numbers", async () => {
    const said = await failure(load({ stream: body(map, 1000, 9000), headers: { "content-length": String(map.length) } }).blob);
    expect(said).toMatchObject({ kind: "interrupted", message: "The connection ended after 9.0 KB of 18 KB of general.mrail." });
  });

  it("a body that is shorter than its length", async () => {
    const said = await failure(load({ stream: body(map.subarray(0, 5000), 1000), headers: { "content-length": String(map.length) } }).blob);
    expect(said.kind).toBe("interrupted");
  });

  it.each(["file:///etc/hosts", "javascript:alert(1)", "data:text/plain,x", "ftp://x/y", "nonsense"])("an address of another kind: %s", async (url) => {
    const { blob, asked } = load({}, url);
    expect((await failure(blob)).kind).toBe("address");
    expect(asked.length).toBe(0);
  });

  it("nothing, when it was cancelled", async () => {
    const abort = new AbortController();
    const { blob } = load({ fails: new DOMException("aborted", "AbortError") }, URL_OF_MAP, abort);
    abort.abort();
    await expect(blob).rejects.toMatchObject({ name: "AbortError" });
  });
});
