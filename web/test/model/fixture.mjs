import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { executable, FLAGS } from "../e2e/browser.mjs";

const PACKAGE = fileURLToPath(new URL("../../../gpu/wasm/pkg/", import.meta.url));

/** The file of a tiny model of random numbers, made by the package itself. Other seeds give other models. */
export async function seededModel(seed) {
  const { default: init, seededModel } = await import(`${PACKAGE}mrail_gpu_wasm.js`);
  await init({ module_or_path: readFileSync(`${PACKAGE}mrail_gpu_wasm_bg.wasm`) });
  return Buffer.from(seededModel(seed));
}

/** A host that is this computer, and that browsers do not trust as they do 127.0.0.1. */
export const PLAIN_HOST = "plain.test";

/** A browser with WebGPU, in software. */
export function launchWithGpu() {
  const flags = FLAGS.filter((flag) => flag !== "--disable-gpu");
  const own = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", `--host-resolver-rules=MAP ${PLAIN_HOST} 127.0.0.1`];
  return chromium.launch({ executablePath: executable(), headless: true, args: [...flags, ...own] });
}

/** Waits until a model is loaded, or fails with what the page says. */
export async function loaded(page, timeout = 60_000) {
  const done = page.getByRole("button", { name: "Unload" });
  const alert = page.getByRole("alert");
  await done.or(alert).first().waitFor({ timeout });
  if (await alert.count()) throw new Error(await alert.innerText());
}

/**
 * Asks, and waits for the end: the answer's text, its pieces' origins, and what the statistics say. `text` has no stop token.
 */
export async function answer(page, prompt, { maxNew = 24, draft = 8, useMap = true, timeout = 60_000 } = {}) {
  await page.getByLabel("Prompt", { exact: true }).fill(prompt);
  await page.getByLabel("Tokens at most").fill(String(maxNew));
  await page.getByLabel("Drafted at once").fill(String(draft));
  await page.getByLabel("Use the map").setChecked(useMap);
  const before = await page.locator(".answer-card").count();
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await page.locator(".answer-card").nth(before).waitFor();
  await page.locator(".answer-card[data-state='running']").waitFor({ state: "detached", timeout });
  return page.locator(".answer-card").first().evaluate((card) => ({
    text: card.querySelector(".answer-text").textContent,
    origins: [...card.querySelectorAll(".answer-text .from")].map((piece) => piece.dataset.origin),
    stats: Object.fromEntries([...card.querySelectorAll("[data-stat]")].map((value) => [value.dataset.stat, value.textContent])),
    state: card.querySelector("[role='status']").textContent,
  }));
}
