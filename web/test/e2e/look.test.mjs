// Themes, a phone's width, the keyboard, and what happens when the worker cannot run.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, rows, SAMPLE, setUp, withSample } from "./fixture.mjs";

const at = setUp();
const coding = rows("coding_runs.jsonl");
const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

/** Whether something is wider than the window. */
const overflows = (page) => page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);

test("at a phone's width nothing scrolls sideways", async () => {
  const page = await at.open("", PHONE);
  assert.equal(await overflows(page), false);
  await page.getByRole("button", { name: "Open the sample map" }).click();
  await ask(page, coding[0].request);
  await page.locator(".answer-time").waitFor();
  await page.getByText("The prompt as the model reads it").click();
  assert.equal(await overflows(page), false);
  await ask(page, "Name the longest word that has no vowel in it, and say why.");
  await page.getByText("does not know this prompt").waitFor();
  assert.equal(await overflows(page), false);
  await page.getByRole("tab", { name: "Runs" }).click();
  await page.locator(".row-facts").first().waitFor();
  assert.equal(await overflows(page), false);
  // The run takes the list's place, and there is a way back.
  await page.getByRole("option").first().click();
  await page.locator("#run-name").waitFor();
  assert.equal(await page.getByRole("listbox").isVisible(), false);
  await page.locator(".run-detail .tokens summary").click();
  await page.locator(".run-detail .token-grid").waitFor();
  assert.equal(await overflows(page), false);
  await page.getByRole("button", { name: "← Runs" }).click();
  assert.ok(await page.getByRole("listbox").isVisible());
});

/** Contrast of an element's text with what is behind it (WCAG). */
async function contrast(page, selector) {
  return page.locator(selector).first().evaluate((element) => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const rgb = (color) => {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
      return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const luminance = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    let behind = element;
    while (behind && rgb(getComputedStyle(behind).backgroundColor)[3] === 0) behind = behind.parentElement;
    const [a, b] = [luminance(rgb(getComputedStyle(element).color)), luminance(rgb(getComputedStyle(behind ?? document.documentElement).backgroundColor))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  });
}

for (const colorScheme of ["light", "dark"]) {
  test(`${colorScheme}: text can be read`, async () => {
    const page = await withSample(at, { colorScheme });
    await ask(page, coding.find(({ stopped }) => !stopped).request);
    for (const selector of ["h1", ".quiet", ".badge", ".stats .more", ".button.primary", ".button", ".answer-time", ".facts", ".ending.cut", ".turn-role", ".turn-text", ".fence", ".tab-bar button[aria-selected=false]", ".link"]) {
      const ratio = await contrast(page, selector);
      assert.ok(ratio >= 4.5, `${selector}: ${ratio.toFixed(2)}`);
    }
    await ask(page, "Nobody asked this.");
    for (const selector of [".border", ".piece.unknown", ".token"]) {
      const ratio = await contrast(page, selector);
      assert.ok(ratio >= 4.5, `${selector}: ${ratio.toFixed(2)}`);
    }
  });
}

test("the theme can be chosen, and stays chosen", async () => {
  const page = await at.open("", { colorScheme: "light" });
  const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const light = await ground();
  const button = page.getByRole("button", { name: /Theme/ });
  await button.click();
  assert.equal(await ground(), light);
  await button.click();
  assert.notEqual(await ground(), light);
  await page.reload();
  assert.notEqual(await ground(), light);
  await button.click();
  assert.equal(await ground(), light);
});

test("with the keyboard alone: open, ask, look through the runs, read one", async () => {
  const page = await at.open();
  /** Presses Tab until the named thing has the focus, and that can be seen. */
  const tabTo = async (name) => {
    for (let i = 0; i < 40; i++) {
      await page.keyboard.press("Tab");
      const focused = await page.evaluate(() => {
        const element = document.activeElement;
        const name = element.getAttribute("aria-label") ?? element.labels?.[0]?.textContent ?? element.textContent;
        return { name, outline: getComputedStyle(element).outlineStyle };
      });
      if (focused.name.includes(name)) return assert.notEqual(focused.outline, "none", `${name} shows no focus`);
    }
    assert.fail(`${name} is not reached`);
  };
  await tabTo("Open the sample map");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "coding.mrail" }).waitFor();
  await tabTo("Prompt");
  await page.keyboard.type(coding[0].request);
  await page.keyboard.press("Enter");
  await page.locator(".answer-time").waitFor();
  await page.getByRole("heading", { name: "coding.mrail" }).focus();
  await tabTo("Ask");
  await page.keyboard.press("ArrowRight");
  await page.locator(".row-facts").first().waitFor();
  await tabTo("Runs");
  for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
  await page.getByRole("heading", { name: "Run 2", exact: true }).waitFor();
  await tabTo("Ask this");
  await page.keyboard.press("Enter");
  await page.locator(".answer-time").waitFor();
  assert.deepEqual(page.faults, []);
});

test("a worker that cannot start is said, and tried again", async () => {
  const page = await at.open();
  let broken = true;
  await page.route("**/assets/worker-*.js", (route) => (broken ? route.fulfill({ status: 500, body: "" }) : route.continue()));
  await page.getByRole("button", { name: "Open the sample map" }).click();
  assert.match(await page.getByRole("alert").innerText(), /map reader/);
  broken = false;
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("heading", { name: "coding.mrail" }).waitFor();
});

test("a part that does not load is named, and tried again", async () => {
  for (const part of ["**/*.wasm", "**/smollm2.pack"]) {
    const context = await at.browser.newContext();
    let broken = true;
    await context.route(part, (route) => (broken ? route.fulfill({ status: 404, body: "gone" }) : route.continue()));
    const page = await context.newPage();
    await page.goto(at.server.url + SAMPLE);
    assert.match(await page.getByRole("alert").innerText(), /part of this page could not be loaded/);
    broken = false;
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByRole("heading", { name: "coding.mrail" }).waitFor();
    await context.close();
  }
});

test("nothing is loaded from anywhere else, and no header is needed", async () => {
  const page = await at.open();
  const elsewhere = [];
  page.on("request", (request) => request.url().startsWith(at.server.url) || elsewhere.push(request.url()));
  await page.goto(at.server.url + SAMPLE);
  await page.locator(".suggestions .chip").first().waitFor();
  assert.deepEqual(elsewhere, []);
  assert.equal(await page.evaluate(() => crossOriginIsolated), false);
});
