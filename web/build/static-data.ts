import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";
import { SAMPLES } from "../src/samples.ts";
import { pack, unpack, type TokenizerJson } from "../src/text/pack.ts";

/**
 * Files that the page fetches and that have their one home in tests/data: the sample maps as they are, the tokenizer
 * packed (src/text/pack.ts). Emitted on build, served from memory by the development server.
 */
export function staticData(data: string): Plugin {
  const tokenizer = (): Uint8Array => {
    const json = JSON.parse(readFileSync(join(data, "tokenizer/tokenizer.json"), "utf8")) as TokenizerJson;
    const packed = pack(json);
    // A packed tokenizer that is not the same tokenizer gives other ids silently: better no page than that.
    if (JSON.stringify(unpack(packed)) !== JSON.stringify(json)) throw new Error("the packed tokenizer does not unpack to tokenizer.json");
    return packed;
  };
  const files = new Map<string, () => Uint8Array>([
    ["tokenizer/smollm2.pack", tokenizer],
    ["tokenizer/smollm2.config.json", () => readFileSync(join(data, "tokenizer/tokenizer_config.json"))],
  ]);
  for (const { file } of SAMPLES) files.set(`maps/${file}`, () => readFileSync(join(data, "maps", file)));

  return {
    name: "mrail-static-data",
    generateBundle() {
      for (const [fileName, read] of files) this.emitFile({ type: "asset", fileName, source: read() });
    },
    configureServer(server) {
      server.middlewares.use((request, response, next) => {
        const read = files.get((request.url ?? "").split("?")[0]!.replace(/^\//, ""));
        if (!read) return next();
        response.setHeader("content-type", "application/octet-stream");
        response.end(read());
      });
    },
  };
}
