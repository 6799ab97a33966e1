import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The entry script of the built wasm package, or undefined when it has not been built. */
export function mrailPackage(folder: string): string | undefined {
  const manifest = join(folder, "package.json");
  if (!existsSync(manifest)) return undefined;
  const { main, module } = JSON.parse(readFileSync(manifest, "utf8")) as { main?: string; module?: string };
  const entry = module ?? main;
  return entry === undefined ? undefined : join(folder, entry);
}
