import { execFileSync } from "node:child_process";
import { chromium } from "playwright-core";

export const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Chromium: the one that MRAIL_CHROMIUM names, as `cargo xtask test` sets it, or the first on PATH. */
export function executable() {
  if (process.env.MRAIL_CHROMIUM) return process.env.MRAIL_CHROMIUM;
  for (const name of ["chromium", "chromium-browser", "google-chrome"]) {
    try {
      return execFileSync("which", [name], { encoding: "utf8" }).trim();
    } catch {
      // The next one.
    }
  }
  throw new Error("no Chromium on PATH, and MRAIL_CHROMIUM is not set");
}

/** A headless browser with a fresh profile. */
export function launch() {
  return chromium.launch({ executablePath: executable(), headless: true, args: FLAGS });
}
