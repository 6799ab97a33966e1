import { describe, expect, it } from "vitest";
import { FailureError } from "../../src/failure.ts";
import { fetchModel, forget, requireModel } from "../../src/model/fetch-model.ts";

const URL_OF_MODEL = "https://models.test/tiny.gguf";
const MODEL = new TextEncoder().encode(`GGUF${"weights".repeat(1000)}`);

/** A cache that keeps what it is given, or has no room. */
function storage(room = true): { storage: CacheStorage; kept: Map<string, Response> } {
  const kept = new Map<string, Response>();
  const cache = {
    match: async (url: string) => kept.get(url)?.clone(),
    put: async (url: string, response: Response) => {
      if (!room) throw new DOMException("no room", "QuotaExceededError");
      kept.set(url, response);
    },
    delete: async (url: string) => kept.delete(url),
  };
  return { storage: { open: async () => cache } as unknown as CacheStorage, kept };
}

function server(body: Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}): { get: typeof fetch; asked: () => number } {
  let asked = 0;
  const get = (async () => (asked++, new Response(body, { headers }))) as typeof fetch;
  return { get, asked: () => asked };
}

const call = { signal: new AbortController().signal, progress: () => {} };

const refusal = (work: () => void): string => {
  try {
    work();
  } catch (thrown) {
    return (thrown as FailureError).failure.message;
  }
  return "";
};

describe("a model from the network", () => {
  it("is kept, and then not fetched again", async () => {
    const { storage: caches } = storage();
    const { get, asked } = server(MODEL);
    const first = await fetchModel(URL_OF_MODEL, "tiny.gguf", call, get, caches);
    const second = await fetchModel(URL_OF_MODEL, "tiny.gguf", call, get, caches);
    expect([first.cache, second.cache, asked()]).toEqual(["stored", "hit", 1]);
    expect(new Uint8Array(await second.blob.arrayBuffer())).toEqual(MODEL);
    await forget(URL_OF_MODEL, caches);
    expect((await fetchModel(URL_OF_MODEL, "tiny.gguf", call, get, caches)).cache).toBe("stored");
  });

  it("is fetched again where what was kept is short, or something else", async () => {
    for (const body of [MODEL.slice(0, 100), new TextEncoder().encode("<!doctype html>".padEnd(MODEL.length))]) {
      const { storage: caches, kept } = storage();
      kept.set(URL_OF_MODEL, new Response(body, { headers: { "x-mrail-bytes": String(MODEL.length) } }));
      const { get, asked } = server(MODEL);
      const fetched = await fetchModel(URL_OF_MODEL, "tiny.gguf", call, get, caches);
      expect([fetched.cache, fetched.blob.size, asked()]).toEqual(["stored", MODEL.length, 1]);
    }
  });

  it("stays in memory where there is no cache, or no room", async () => {
    const { get } = server(MODEL);
    for (const caches of [storage(false).storage, { open: () => Promise.reject(new Error("switched off")) } as unknown as CacheStorage]) {
      expect((await fetchModel(URL_OF_MODEL, "tiny.gguf", call, get, caches)).cache).toBe("none");
    }
  });

  it("is not kept where it is no model, or was cut", async () => {
    const { storage: caches, kept } = storage();
    const page = server(new TextEncoder().encode("<!doctype html><title>Sign in</title>"));
    await expect(fetchModel(URL_OF_MODEL, "tiny.gguf", call, page.get, caches)).rejects.toThrow("web page");
    const cut = server(MODEL.slice(0, 1000), { "content-length": String(MODEL.length) });
    await expect(fetchModel(URL_OF_MODEL, "tiny.gguf", call, cut.get, caches)).rejects.toThrow("ended after 1.0 KB of 7.0 KB");
    expect(kept.size).toBe(0);
  });
});

describe("what is no model", () => {
  it("is named", () => {
    const text = (start: string): string => refusal(() => requireModel(new TextEncoder().encode(start), "it"));
    expect(text("GGUF")).toBe("");
    expect(text("")).toMatch(/is empty/);
    expect(text("\ufeff <HTML>")).toMatch(/web page/);
    expect(text("MRAIL\x03")).toMatch(/is a map/);
    expect(text("version https://git-lfs.github.com/spec/v1")).toMatch(/Git LFS/);
    expect(text("whatever")).toMatch(/does not start like one/);
  });
});
