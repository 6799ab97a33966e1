import { readFileSync } from "node:fs";
import { after, before } from "node:test";
import { fileURLToPath } from "node:url";
import { launch } from "./browser.mjs";
import { serve } from "./server.mjs";

export const path = (name) => fileURLToPath(new URL(`../../../tests/data/maps/${name}`, import.meta.url));
export const bytes = (name) => readFileSync(path(name));

/** What llama.cpp made of the model for each run of a sample map. */
export const rows = (name) => readFileSync(path(name), "utf8").trim().split("\n").map((line) => JSON.parse(line));

export const visibleAnswer = ({ answer_text }) => answer_text.replace(/<\|im_end\|>$/, "");

/**
 * A browser and a server for one file of tests. `open` gives a page with a fresh profile; what it says on the console
 * as an error, and what nobody caught, is collected in `page.faults`.
 */
export function setUp(routes = {}) {
  const at = {};
  before(async () => {
    at.server = await serve(routes);
    at.browser = await launch();
  });
  after(async () => {
    await at.browser?.close();
    await at.server?.close();
  });
  at.open = async (address = "", options = {}) => {
    const context = await at.browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(15_000);
    page.faults = [];
    page.on("pageerror", (error) => page.faults.push(error.message));
    page.on("console", (message) => message.type() === "error" && page.faults.push(message.text()));
    await page.goto(at.server.url + address);
    return page;
  };
  return at;
}

export const SAMPLE = "?url=maps/coding.mrail";

/** A page with the sample map open. */
export async function withSample(at, options) {
  const page = await at.open(SAMPLE, options);
  await page.getByRole("heading", { name: "coding.mrail" }).waitFor();
  return page;
}

export async function ask(page, prompt) {
  await page.getByLabel("Prompt", { exact: true }).fill(prompt);
  await page.getByRole("button", { name: "Ask the map" }).click();
  await page.locator(".answer-card").waitFor();
  await page.locator(".ask-panel:not([aria-busy])").waitFor();
}

/** The text of the answer that is shown, without the control tokens. */
export function answerText(page) {
  return page.locator(".answer-card > .rail .turn-text").evaluate((element) =>
    [...element.childNodes].filter((node) => !node.classList.contains("token")).map((node) => node.textContent).join(""),
  );
}
