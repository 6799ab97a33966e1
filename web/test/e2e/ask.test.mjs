// Asking the sample map: the exact answer with its time, or the honest word that it is not known.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answerText, ask, rows, setUp, visibleAnswer, withSample } from "./fixture.mjs";

const at = setUp();
const coding = rows("coding_runs.jsonl");
const known = new Set(coding.map(({ request }) => request));

test("a known prompt gets the model's answer to the letter, and the time it took", async () => {
  const page = await withSample(at);
  for (const row of [coding.find(({ stopped }) => stopped), coding.find(({ stopped }) => !stopped), coding[120]]) {
    await ask(page, row.request);
    assert.equal(await answerText(page), visibleAnswer(row));
    assert.match(await page.locator(".answer-time").innerText(), /^[\d.]+ (ns|µs)$/);
    assert.match(await page.locator(".answer-card").innerText(), /median over [\d,]+ calls/);
    const ending = await page.locator(".answer-card .ending").innerText();
    assert.match(ending, row.stopped ? /whole: it ends with the stop token/ : /without a stop token: this is not the whole answer/);
  }
  assert.deepEqual(page.faults, []);
});

test("an unknown prompt gets no answer, but the known beginning and a draft", async () => {
  const page = await withSample(at);
  const row = rows("heldout.jsonl").find(({ request }) => !known.has(request));
  await ask(page, row.request);
  const card = page.locator(".answer-card");
  assert.match(await card.innerText(), /The map does not know this prompt/);
  assert.equal(await page.locator(".answer-time").count(), 0);
  const shared = Math.max(...coding.map(({ prompt, answer }) => [...prompt, ...answer].findIndex((id, i) => id !== row.prompt[i])));
  assert.match(await card.innerText(), new RegExp(`${shared} of ${row.prompt.length} tokens known`));
  // Known and unknown part together are the prompt.
  const user = card.locator('.turn[data-role="user"] .piece');
  assert.equal((await user.allTextContents()).join("").trim(), row.request);
  assert.equal(await card.locator(".border").count(), 1);
  await page.getByText("How the map would go on").click();
  assert.ok((await card.locator(".draft-token").count()) > 3);
});

test("a suggestion is answered", async () => {
  const page = await withSample(at);
  const chip = page.locator(".suggestions .chip").first();
  await chip.click();
  await page.locator(".answer-time").waitFor();
  await page.getByRole("button", { name: "Show others" }).click();
  assert.ok((await page.locator(".suggestions .chip").count()) >= 3);
});

test("a conversation goes on as long as the map knows it", async () => {
  const page = await withSample(at);
  const turns = coding.filter(({ id }) => id.startsWith("conv2."));
  await page.getByText("System message").first().click();
  await page.getByLabel("System message", { exact: true }).fill(/system\n([^]*?)<\|im_end\|>/.exec(turns[0].prompt_text)[1]);
  for (const [i, row] of turns.entries()) {
    await ask(page, row.request);
    assert.equal(await answerText(page), visibleAnswer(row), row.id);
    if (i < turns.length - 1) await page.getByRole("button", { name: "Ask on" }).click();
  }
  await page.getByRole("button", { name: "Start over" }).click();
  await ask(page, turns[1].request);
  assert.match(await page.locator(".answer-card").innerText(), /does not know/);
});

test("a prompt typed over a suggested conversation begins anew", async () => {
  const page = await withSample(at);
  const turn = coding.findIndex(({ id }) => id === "conv4.1");
  await page.goto(`${page.url()}#run=${turn}`);
  await page.getByRole("button", { name: "Ask this" }).click();
  await page.locator(".answer-time").waitFor();
  assert.match(await page.locator(".before").innerText(), /^Turn 2, after/);
  await ask(page, coding[0].request);
  assert.equal(await answerText(page), visibleAnswer(coding[0]));
  assert.equal(await page.locator(".before").isVisible(), false);
});

test("the answer can be copied", async () => {
  const page = await withSample(at, { permissions: ["clipboard-read", "clipboard-write"] });
  await ask(page, coding[0].request);
  await page.getByRole("button", { name: "Copy answer" }).click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), visibleAnswer(coding[0]));
});

test("what the model reads is shown, with its token ids", async () => {
  const page = await withSample(at);
  await ask(page, coding[0].request);
  await page.getByText("The prompt as the model reads it").click();
  await page.getByText("Token ids of the prompt").click();
  await page.locator(".answer-card .token-grid").waitFor();
  const ids = await page.locator(".answer-card .token-id").allTextContents();
  assert.deepEqual(ids.map(Number), coding[0].prompt);
});
