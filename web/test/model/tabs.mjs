import { setTimeout as sleep } from "node:timers/promises";
import { launchFirefox } from "../e2e/webdriver.mjs";
import { launchWithGpu } from "./fixture.mjs";

/** Chromium as `launchFirefox` has it: tabs that share a fresh profile. */
async function launchChromium() {
  const browser = await launchWithGpu();
  const context = await browser.newContext();
  return {
    tab: async () => {
      const page = await context.newPage();
      return { goto: (url) => page.goto(url), reload: () => page.reload(), back: () => page.goBack(), run: (work, argument) => page.evaluate(work, argument), close: () => page.close() };
    },
    close: () => browser.close(),
  };
}

export const BROWSERS = { Chromium: launchChromium, Firefox: launchFirefox };

/** Waits until a function in the page returns something. */
export async function until(tab, work, argument, timeout = 30_000) {
  for (const end = Date.now() + timeout; ; await sleep(50)) {
    const value = await tab.run(work, argument).catch((error) => error);
    if (value && !(value instanceof Error)) return value;
    if (Date.now() > end) throw value instanceof Error ? value : new Error(`the page never did: ${work}\n${await tab.run(async () => document.body.innerText)}`);
  }
}

/** Waits until a model is loaded; what the page says of its own map. */
export async function loaded(tab) {
  await until(tab, async () => [...document.querySelectorAll("button")].some((button) => button.textContent === "Unload") || document.querySelector("[role='alert']")?.innerText);
  return own(tab);
}

export function own(tab) {
  return tab.run(async () => ({
    where: document.querySelector("[data-own] .map-file").firstChild.textContent,
    runs: Number.parseInt(document.querySelector(".map-size").textContent, 10),
    notes: document.querySelector(".map-notes").innerText,
  }));
}

export function press(tab, name) {
  return until(tab, async (name) => {
    const found = [...document.querySelectorAll("button")].find((button) => button.textContent.startsWith(name) && button.checkVisibility() && !button.disabled);
    found?.click();
    return found !== undefined;
  }, name);
}

/** Asks, and waits for the end: the answer's text, its pieces' origins and how much was computed for it. */
export async function ask(tab, prompt) {
  const before = await tab.run(async () => document.querySelectorAll(".answer-card").length);
  await tab.run(async (prompt) => {
    document.querySelector("#prompt").value = prompt;
    document.querySelector("#max-new").value = "24";
  }, prompt);
  await press(tab, "Answer");
  return until(tab, async (before) => {
    const cards = document.querySelectorAll(".answer-card");
    // The answer's end, and what the map holds after it.
    if (cards.length === before || cards[0].dataset.state === "running" || !document.querySelector(".composer button[type='submit']:enabled")) return undefined;
    return {
      text: cards[0].querySelector(".answer-text").textContent,
      origins: [...cards[0].querySelectorAll(".answer-text .from")].map((piece) => piece.dataset.origin),
      evaluated: Number.parseInt(cards[0].querySelector("[data-stat='evaluated']").textContent, 10),
    };
  }, before);
}

/** The files of own maps, as the browser keeps them: names, and bytes. */
export async function files(tab) {
  const files = await tab.run(async () => {
    const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("own-maps", { create: true });
    const files = [];
    for await (const [name, file] of folder.entries()) files.push([name, [...new Uint8Array(await (await file.getFile()).arrayBuffer())]]);
    return files;
  });
  return new Map(files);
}

/** Writes a file of an own map as no page would, as soon as the page before has let it go. */
export function damage(tab, name, bytes) {
  return until(tab, async ([name, bytes]) => {
    const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("own-maps");
    const writable = await (await folder.getFileHandle(name)).createWritable();
    await writable.write(Uint8Array.from(bytes));
    await writable.close();
    return true;
  }, [name, bytes]);
}
