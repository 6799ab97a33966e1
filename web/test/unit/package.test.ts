import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { mrailPackage } from "../../build/mrail-package.ts";
import { call, file, opened, sessionTests } from "./session.ts";
import { handlers } from "../../src/worker/handlers.ts";
import { tokenizer } from "./data.ts";

// Built by `wasm-pack build --target web wasm`; without it there is nothing to test here, and that is an error.
const entry = mrailPackage(fileURLToPath(new URL("../../../wasm/pkg", import.meta.url)));
if (entry === undefined) throw new Error("wasm/pkg is missing: build it with wasm-pack, or run `cargo xtask test`");

const mrail = (await import(/* @vite-ignore */ entry)) as typeof import("mrail");
const open = (bytes: Uint8Array, trusted: boolean): import("mrail").MrailMap => mrail.MrailMap.open(bytes, { trusted });

beforeAll(async () => {
  const wasm = entry.replace(/\.js$/, "_bg.wasm");
  await mrail.default({ module_or_path: readFileSync(join(dirname(entry), wasm.split("/").at(-1)!)) });
});

describe("a session over the package", () => sessionTests(open));

describe("damage is seen", () => {
  it.each([
    ["torn_header", "torn"],
    ["torn_header5", "torn"],
    ["torn_payload", "torn"],
    ["coding", "none"],
    ["general", "none"],
    ["unknown_kind", "none"],
  ])("%s.mrail: tail %s", async (name, tail) => {
    const session = handlers(async () => ({ open, tokenizer: tokenizer() }));
    const { info } = await session.open(call(), file(`${name}.mrail`), true);
    expect(info.tail).toBe(tail);
    expect(info.byteLength > info.validLength).toBe(tail !== "none");
  });

  it("tracks have no tokens to show, and say from what they were made", async () => {
    const session = await opened(open, "tracks.mrail");
    const runs = await session.rows(call(), Uint32Array.of(0, 1, 2));
    expect(runs.some(({ kind, ending }) => kind === "track" && ending === "elsewhere")).toBe(true);
  });
});
