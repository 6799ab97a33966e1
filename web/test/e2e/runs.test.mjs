// The list of runs and one run.
import assert from "node:assert/strict";
import { test } from "node:test";
import { path, rows, setUp, visibleAnswer, withSample } from "./fixture.mjs";

const at = setUp();
const coding = rows("coding_runs.jsonl");

async function runs(options) {
  const page = await withSample(at, options);
  await page.getByRole("tab", { name: "Runs" }).click();
  await page.locator(".row-facts").first().waitFor();
  return page;
}

test("few elements, however long the list; the last run is reached", async () => {
  const page = await runs();
  assert.ok((await page.locator(".row").count()) < 30);
  await page.getByRole("listbox").focus();
  await page.keyboard.press("End");
  await page.getByRole("option").filter({ hasText: "#197" }).locator(".row-title").waitFor();
  assert.ok((await page.locator(".row").count()) < 30);
});

test("a run shows context and answer apart, its end, and its tokens on demand", async () => {
  const page = await runs();
  const cut = coding.findIndex(({ stopped }) => !stopped);
  await page.getByRole("option").nth(cut).click();
  await page.getByRole("heading", { name: `Run ${cut}`, exact: true }).waitFor();
  assert.ok(page.url().endsWith(`#run=${cut}`));
  const detail = page.locator(".run-detail");
  assert.equal((await detail.locator(".turn.answer .piece").allTextContents()).join("").trim(), visibleAnswer(coding[cut]).trim());
  assert.match(await detail.innerText(), /without a stop token: this is not the whole answer/);
  assert.ok((await detail.locator(".token.special").count()) >= 4);
  await detail.getByText("Token ids").click();
  await detail.locator(".token-grid").waitFor();
  const ids = await detail.locator(".token-id").allTextContents();
  assert.deepEqual(ids.map(Number), [...coding[cut].prompt, ...coding[cut].answer]);
  await detail.getByRole("button", { name: "Ask this" }).click();
  await page.locator(".answer-time").waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: `Run ${cut}`, exact: true }).waitFor();
  assert.deepEqual(page.faults, []);
});

test("search finds text and tokens, and says when there is nothing", async () => {
  const page = await runs();
  const search = page.getByRole("searchbox", { name: "Search in runs" });
  await search.fill("palindrome");
  await page.getByText(/^\d+ of 198 runs$/).waitFor();
  const found = coding.filter(({ prompt_text, answer_text }) => `${prompt_text}${answer_text}`.toLowerCase().includes("palindrome")).length;
  assert.equal(await page.locator(".search-status").innerText(), `${found} of 198 runs`);
  await search.fill(`ids: ${coding[5].answer.slice(0, 12).join(" ")}`);
  await page.getByText(/^[1-9]\d* of 198 runs$/).waitFor();
  await search.fill("no such words anywhere");
  await page.getByText("No run contains this (198 runs searched).").waitFor();
  assert.equal(await page.locator(".row").count(), 0);
  await search.fill("");
  await page.getByText("198 runs", { exact: true }).waitFor();
  assert.deepEqual(page.faults, []);
});

test("a million runs scroll, and are searched with progress and an end", { timeout: 120_000 }, async () => {
  // One million short sessions: 29 bytes each.
  const count = 1_000_000;
  const file = Buffer.alloc(8 + count * 29);
  file.write("MRAIL\x03\0\0", "latin1");
  for (let i = 0, to = 8; i < count; i++, to += 29) {
    file[to] = 1;
    file.writeUInt32LE(24, to + 1);
    file.writeUInt32LE(i, to + 5);
    file.writeUInt32LE(3, to + 9);
    file.writeUInt32LE(2, to + 13);
    for (const [j, token] of [100 + (i % 40_000), 200 + Math.floor(i / 40_000), 2].entries()) file.writeUInt32LE(token, to + 17 + 4 * j);
  }
  const { writeFile, mkdtemp, rm } = await import("node:fs/promises");
  const folder = await mkdtemp(`${(await import("node:os")).tmpdir()}/mrail-`);
  try {
    await writeFile(`${folder}/million.mrail`, file);
    const page = await at.open();
    page.setDefaultTimeout(60_000);
    await page.locator('input[type="file"]').setInputFiles(`${folder}/million.mrail`);
    await page.getByRole("heading", { name: "million.mrail" }).waitFor();
    await page.getByRole("tab", { name: "Runs" }).click();
    await page.getByRole("listbox").focus();
    await page.keyboard.press("End");
    await page.getByRole("option").filter({ hasText: "#999999" }).waitFor();
    assert.ok((await page.locator(".row").count()) < 30);
    await page.getByRole("listbox").evaluate((list) => (list.scrollTop = list.scrollHeight / 2));
    await page.getByRole("option").filter({ hasText: /#(49|50)\d{4}/ }).first().waitFor();
    await page.getByRole("searchbox").fill("zzzzqq");
    await page.getByText(/found, [\d,]+ of 1,000,000 searched/).waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText(/^Stopped; \d+ found so far\.$/).waitFor();
    assert.deepEqual(page.faults, []);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a track says where its tokens are", async () => {
  const page = await at.open();
  await page.locator('input[type="file"]').setInputFiles(path("tracks.mrail"));
  await page.getByRole("tab", { name: "Runs" }).click();
  await page.getByRole("option").filter({ hasText: "track" }).first().click();
  assert.match(await page.locator(".run-detail .notice").innerText(), /copies from a context of [\d,]+ tokens/);
});
