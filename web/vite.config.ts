import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { mrailPackage } from "./build/mrail-package.ts";
import { contentSecurityPolicy } from "./build/policy.ts";
import { staticData } from "./build/static-data.ts";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig(({ command, mode }) => {
  const mrail = mrailPackage(at("../wasm/pkg"));
  const mrailGpu = mrailPackage(at("../gpu/wasm/pkg"));
  if ((mrail === undefined || mrailGpu === undefined) && command === "build" && mode !== "test") {
    const folder = mrail === undefined ? "wasm" : "gpu/wasm";
    throw new Error(`${folder}/pkg is missing: run \`wasm-pack build --target web ${folder}\` first (\`cargo xtask demo\` does it all)`);
  }
  return {
    // The page works from any folder of any host.
    base: "./",
    // A file that is not there is a 404, not this page again under another name.
    appType: "mpa" as const,
    plugins: [staticData(at("../tests/data")), contentSecurityPolicy()],
    // Whole names: one begins with the other.
    resolve: {
      alias: [
        ...(mrail === undefined ? [] : [{ find: /^mrail$/, replacement: mrail }]),
        ...(mrailGpu === undefined ? [] : [{ find: /^mrail-gpu$/, replacement: mrailGpu }]),
      ],
    },
    worker: { format: "es" as const },
    build: {
      // Browsers that know `light-dark()`, which the styles are written with.
      target: ["chrome123", "firefox120", "safari17.5"],
      // The .wasm stays a file of its own: compiled while it loads.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      rolldownOptions: { input: { index: at("index.html"), model: at("model.html") } },
    },
    server: { fs: { allow: [at("..")] } },
    test: { include: ["test/unit/**/*.test.ts"], environment: "node" },
  };
});
