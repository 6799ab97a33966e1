// The page that runs a model, with a tiny one: every way in, drafts that change nothing, errors, and stopping.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { bytes } from "../e2e/fixture.mjs";
import { serve } from "../e2e/server.mjs";
import { answer, launchWithGpu, loaded, PLAIN_HOST, seededModel } from "./fixture.mjs";

let browser;
let server;
let model;
let sent = 0;
/** How the server misbehaves now. */
let fault;

before(async () => {
  model = await seededModel();
  server = await serve({
    "/tiny.gguf": (_, response) => {
      sent++;
      if (fault === "page") return response.setHeader("content-type", "text/html").end("<!doctype html><title>Sign in</title>");
      response.setHeader("content-length", model.length);
      if (fault === "cut") return response.write(model.subarray(0, 9000), () => setTimeout(() => response.destroy(), 50));
      response.end(model);
    },
    // A download that takes longer than anybody waits.
    "/slow.gguf": (_, response) => response.setHeader("content-length", model.length).write(model.subarray(0, 9000)),
    "/coding.mrail": (_, response) => response.end(bytes("coding.mrail")),
  });
  browser = await launchWithGpu();
});
after(async () => {
  await browser?.close();
  await server?.close();
});

async function open(query = "", options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(error.message));
  page.on("console", (message) => message.type() === "error" && page.faults.push(message.text()));
  await page.goto(`${server.url}model.html${query}`);
  return page;
}

const alert = (page) => page.getByRole("alert").innerText();

for (const backend of ["GPU", "Processor"]) {
  test(`${backend}: answers are kept, known prompts are answered from the map, and drafts change nothing`, async () => {
    const page = await open();
    await page.getByLabel("Run it on").selectOption(backend);
    await page.locator('input[accept=".gguf"]').setInputFiles({ name: "tiny.gguf", mimeType: "", buffer: model });
    await loaded(page);
    assert.equal(await page.locator(".pairs .badge").innerText(), backend === "GPU" ? "GPU (software)" : "Processor");
    const plain = await answer(page, "the hen", { draft: 0, useMap: false });
    assert.deepEqual(plain.origins, ["model"]);
    const drafted = await answer(page, "the hen", { draft: 31, useMap: false });
    assert.equal(drafted.text, plain.text);
    const kept = await answer(page, "the hen");
    assert.match(kept.state, /in the map now/);
    const known = await answer(page, "the hen");
    assert.equal(known.text, plain.text);
    assert.deepEqual(known.origins, ["map"]);
    assert.equal(known.stats.evaluated, "0 tokens");
    // The map goes to another page, and answers there.
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save a copy" }).click()]);
    const map = await download.path();
    await page.getByRole("button", { name: "Forget …" }).click();
    await page.getByRole("button", { name: "Forget for good" }).click();
    await page.locator(".map-size", { hasText: "0 runs" }).waitFor();
    await page.getByRole("button", { name: "Unload" }).click();
    await page.locator('input[accept=".gguf"]').setInputFiles({ name: "tiny.gguf", mimeType: "", buffer: model });
    await loaded(page);
    await page.locator('input[accept=".mrail"]').setInputFiles(map);
    await page.locator(".map-list .badge.warn").waitFor();
    const foreign = await answer(page, "the hen");
    assert.equal(foreign.text, plain.text);
    assert.ok(foreign.origins.includes("draft") && !foreign.origins.includes("map"), foreign.origins.join());
    // Trusted, it answers in place of the one that the browser keeps, until it is left.
    await page.getByRole("switch").check();
    await page.locator('input[accept=".mrail"]').setInputFiles(map);
    await page.locator(".map-notes", { hasText: "An attached map" }).waitFor();
    assert.deepEqual((await answer(page, "the hen", { maxNew: 8 })).origins, ["map"]);
    assert.ok(await page.getByRole("button", { name: "Forget …" }).isHidden());
    await page.getByRole("button", { name: "Leave all maps" }).click();
    await page.locator(".map-file", { hasText: "kept in this browser" }).waitFor();
    assert.equal((await answer(page, "the hen")).stats.evaluated, "0 tokens");
    assert.deepEqual(page.faults, []);
  });
}

test("from an address, and then from the browser's cache; what is damaged there is fetched again", async () => {
  const page = await open("?model=tiny.gguf");
  await loaded(page);
  assert.match(await page.locator(".pairs").first().innerText(), /kept in this browser/);
  assert.equal(sent, 1);
  await page.reload();
  await loaded(page);
  assert.match(await page.locator(".pairs").first().innerText(), /from this browser/);
  assert.equal(sent, 1);
  await page.evaluate(async (url) => {
    const cache = await caches.open("mrail-models-1");
    const kept = await cache.match(url);
    const blob = await kept.blob();
    await cache.put(url, new Response(blob.slice(0, 5000), { headers: kept.headers }));
  }, `${server.url}tiny.gguf`);
  await page.reload();
  await loaded(page);
  assert.equal(sent, 2);
  assert.deepEqual(page.faults, []);
});

test("a web page, a download that breaks off and a map in place of a model are refused", async () => {
  for (const [what, query, says] of [
    ["page", "?model=tiny.gguf", /is no model: it is a web page/],
    ["cut", "?model=tiny.gguf", /ended after 9\.0 KB of/],
    [undefined, "?model=coding.mrail", /it is a map/],
    [undefined, "?model=missing.gguf", /has no file/],
  ]) {
    fault = what;
    const page = await open(query);
    assert.match(await alert(page), says);
    fault = undefined;
    await page.getByLabel("or from an address").first().fill("tiny.gguf");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Unload" }).waitFor();
    await page.context().close();
  }
});

test("a map of another model is refused, and the answer goes on without it", async () => {
  const page = await open("?model=tiny.gguf&map=coding.mrail");
  assert.match(await alert(page), /a map of another model/);
  assert.equal((await answer(page, "the hen")).origins.at(-1), "model");
});

test("an answer can be stopped, and the next one is whole", async () => {
  const page = await open("?model=tiny.gguf");
  await loaded(page);
  await page.getByLabel("Prompt", { exact: true }).fill("the hat");
  await page.getByLabel("Tokens at most").fill("4000");
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await page.locator(".answer-text .from").first().waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.locator(".answer-card[data-state='done']").waitFor();
  assert.equal(await page.locator(".answer-card [role='status']").first().innerText(), "Stopped.");
  const plain = await answer(page, "the hen", { draft: 0, useMap: false });
  assert.equal((await answer(page, "the hen", { useMap: false })).text, plain.text);
});

/** Begins an answer that takes longer than any test. */
async function begin(page) {
  await page.getByLabel("Prompt", { exact: true }).fill("the hat");
  await page.getByLabel("Tokens at most").fill("4000");
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await page.locator(".answer-card[data-state='running'] .from").first().waitFor();
}

/** Presses a button, and asks for the model as soon as the page offers that. */
function pressAndLoad(page, name) {
  return page.evaluate(async (name) => {
    [...document.querySelectorAll("button")].find((button) => button.textContent === name).click();
    let address;
    for (let step = 0; step < 100 && !(address = document.querySelector("#model-address")); step++) await undefined;
    address.value = "tiny.gguf";
    address.form.requestSubmit();
  }, name);
}

test("what waits for a model that is gone makes no new worker, says nothing, and brings nothing back", async () => {
  const page = await open();
  await page.addInitScript(() => {
    globalThis.workers = 0;
    const { Worker } = globalThis;
    globalThis.Worker = class extends Worker {
      constructor(...given) {
        super(...given);
        globalThis.workers++;
      }
    };
  });
  await page.goto(`${server.url}model.html?model=tiny.gguf`);
  await loaded(page);
  await begin(page);
  await page.evaluate(() => dispatchEvent(new PageTransitionEvent("pagehide", { persisted: true })));
  await page.locator(".answer-card[data-state='done']").waitFor();
  await page.waitForTimeout(300);
  assert.equal(await page.evaluate(() => workers), 1);
  assert.ok(await page.evaluate(() => document.querySelector("fieldset").disabled));
  await page.evaluate(() => dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true })));
  await loaded(page);
  await begin(page);
  await page.getByRole("button", { name: "Unload" }).click();
  await page.locator("#model-address").waitFor();
  await page.waitForTimeout(300);
  assert.ok(await page.evaluate(() => document.querySelector("fieldset").disabled));
  assert.equal(await page.getByRole("alert").count(), 0);
  assert.deepEqual(page.faults, []);
});

test("a model that is asked for while another one goes is loaded", async () => {
  const page = await open("?model=tiny.gguf");
  await loaded(page);
  await begin(page);
  await pressAndLoad(page, "Unload");
  await loaded(page);
  await answer(page, "the hen");
  // A load that was cancelled goes as silently, and the map that the link named with it.
  await page.goto(`${server.url}model.html?model=slow.gguf&map=coding.mrail`);
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.locator("#model-address").waitFor();
  await page.waitForTimeout(300);
  assert.equal(await page.getByRole("alert").count(), 0);
  await page.locator("#model-address").fill("slow.gguf");
  await page.keyboard.press("Enter");
  await page.getByText("Downloaded").waitFor();
  await pressAndLoad(page, "Cancel");
  await loaded(page);
  assert.deepEqual(page.faults, []);
});

test("where a browser trusts the address with nothing, answers are in memory, and the page says so", async () => {
  const page = await open();
  await page.goto(`${server.url.replace("127.0.0.1", PLAIN_HOST)}model.html?model=tiny.gguf`);
  await loaded(page);
  assert.match(await page.locator(".map-notes").innerText(), /has no files for pages/);
  assert.equal((await answer(page, "the hen")).origins.at(-1), "model");
  assert.deepEqual((await answer(page, "the hen")).origins, ["map"]);
  assert.match(await page.locator(".map-file").innerText(), /^in memory\s+1 run,/);
  assert.ok(await page.getByRole("button", { name: "Forget …" }).isHidden());
  // A map that drafts comes and goes; the answers stay.
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save a copy" }).click()]);
  await page.locator('input[accept=".mrail"]').setInputFiles(await download.path());
  await page.getByText("drafts only").waitFor();
  await page.getByRole("button", { name: "Leave all maps" }).click();
  await page.getByText("drafts only").waitFor({ state: "detached" });
  assert.match(await page.locator(".map-file").innerText(), /^in memory\s+1 run,/);
  assert.deepEqual((await answer(page, "the hen")).origins, ["map"]);
  assert.deepEqual(page.faults, []);
});

test("no header is needed, nothing comes from elsewhere, and a phone shows all of it", async () => {
  const page = await open("?model=tiny.gguf", { viewport: { width: 390, height: 800 } });
  await loaded(page);
  assert.equal(await page.evaluate(() => crossOriginIsolated), false);
  await answer(page, "the hen");
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
});
