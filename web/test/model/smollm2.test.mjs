// The page with a real model, which is not in this repository: MRAIL_MODEL=<SmolLM2-135M-Instruct.Q4_1.gguf>.
import assert from "node:assert/strict";
import { createReadStream, statSync } from "node:fs";
import { test } from "node:test";
import { rows } from "../e2e/fixture.mjs";
import { serve } from "../e2e/server.mjs";
import { answer, launchWithGpu, loaded } from "./fixture.mjs";

const MODEL = process.env.MRAIL_MODEL;
const MINUTES = 60_000;

for (const backend of ["GPU", "Processor"]) {
  test(`${backend}: SmolLM2 answers a known prompt from the map, and decodes an unknown one with and without drafts`, { skip: !MODEL && "MRAIL_MODEL names no file", timeout: 10 * MINUTES }, async () => {
    const server = await serve({
      "/model.gguf": (_, response) => {
        response.setHeader("content-length", statSync(MODEL).size);
        createReadStream(MODEL).pipe(response);
      },
    });
    const browser = await launchWithGpu();
    try {
      const page = await browser.newPage();
      page.setDefaultTimeout(MINUTES);
      await page.goto(`${server.url}model.html`);
      await page.getByLabel("Run it on").selectOption(backend);
      await page.getByLabel("or from an address").first().fill("model.gguf");
      await page.keyboard.press("Enter");
      await loaded(page, 4 * MINUTES);
      await page.getByRole("switch").check();
      await page.getByLabel("or from an address").last().fill("maps/smollm2-coding.mrail");
      await page.keyboard.press("Enter");
      await page.locator(".map-file", { hasText: "smollm2-coding.mrail" }).waitFor();
      const [{ request }] = rows("coding_runs.jsonl");
      const known = await answer(page, request, { maxNew: 128 });
      assert.equal(known.stats.evaluated, "0 tokens");

      const options = { maxNew: 16, useMap: false, timeout: 4 * MINUTES };
      const own = await answer(page, request, { ...options, draft: 0 });
      assert.ok(own.text.length > 10 && known.text.startsWith(own.text), `${known.text}\n${own.text}`);
      const prompt = "Why do hens like old hats so much?";
      const plain = await answer(page, prompt, { ...options, draft: 0 });
      const drafted = await answer(page, prompt, { ...options, draft: 8 });
      console.log(`${backend}: ${JSON.stringify(plain)}\n${JSON.stringify(drafted.stats)}`);
      assert.equal(drafted.text, plain.text);
      assert.ok(plain.text.length > 10, plain.text);
    } finally {
      await browser.close();
      await server.close();
    }
  });
}
