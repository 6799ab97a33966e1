// Every way a map gets into the page, and every way it does not.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { ask, bytes, path, rows, setUp, withSample } from "./fixture.mjs";
import { serve } from "./server.mjs";

const general = bytes("general.mrail");
let other;

const at = setUp({
  "/page.mrail": (_, response) => response.setHeader("content-type", "text/html").end("<!doctype html><title>Sign in</title>"),
  "/forbidden.mrail": (_, response) => response.writeHead(403).end(),
  "/cut.mrail": (_, response) => {
    response.writeHead(200, { "content-length": general.length });
    response.write(general.subarray(0, 9000), () => setTimeout(() => response.destroy(), 50));
  },
  "/slow.mrail": (request, response) => {
    response.writeHead(200, { "content-length": general.length });
    response.write(general.subarray(0, 9000));
    const rest = setTimeout(() => response.end(general.subarray(9000)), 1500);
    request.on("close", () => clearTimeout(rest));
  },
  "/empty-body.mrail": (_, response) => response.end(),
  "/copy.mrail": (_, response) => response.end(bytes("coding.mrail")),
});
before(async () => {
  other = await serve({
    "/private.mrail": (_, response) => response.end(general),
    "/public.mrail": (_, response) => response.setHeader("access-control-allow-origin", "*").end(general),
  });
});
after(() => other.close());

const alert = (page) => page.getByRole("alert").innerText();

test("the sample map is one click away, and then in the address", async () => {
  const page = await at.open();
  await page.getByRole("button", { name: "Open the sample map" }).click();
  await page.getByRole("heading", { name: "smollm2-coding.mrail" }).waitFor();
  assert.ok(page.url().endsWith("?url=maps/smollm2-coding.mrail"), page.url());
  await page.reload();
  await page.getByRole("heading", { name: "smollm2-coding.mrail" }).waitFor();
  // This runtime's own answers to the requests that llama.cpp answered in the other one.
  await ask(page, rows("coding_runs.jsonl")[0].request);
  await page.locator(".answer-time").waitFor();
  assert.deepEqual(page.faults, []);
});

test("the browser's back and forward go between maps and the start page", async () => {
  const page = await at.open();
  await page.getByRole("button", { name: "Open the sample map" }).click();
  await page.getByRole("heading", { name: "coding.mrail" }).waitFor();
  await page.getByRole("link", { name: "mrail, start page" }).click();
  await page.getByRole("button", { name: /General questions/ }).click();
  await page.getByRole("heading", { name: "general.mrail" }).waitFor();
  await page.getByRole("tab", { name: "Runs" }).click();
  for (const name of ["general.mrail", "Ask a map of what the model already said.", "coding.mrail"]) {
    await page.goBack();
    await page.getByRole("heading", { name }).waitFor();
  }
  await page.goForward();
  await page.goForward();
  await page.getByRole("heading", { name: "general.mrail" }).waitFor();
  assert.deepEqual(page.faults, []);
});

test("the overview says what the map holds", async () => {
  const page = await withSample(at);
  const text = (await page.locator(".overview").innerText()).replace(/\s+/g, " ");
  for (const fact of ["198", "31,678", "15,181 in prompts, 16,497 answered", "every record read", "130 KB", "SmolLM2-135M-Instruct"]) {
    assert.ok(text.includes(fact), `${fact} in ${text}`);
  }
  assert.equal(await page.getByRole("table", { name: "Size by kind" }).getByRole("row").count(), 3);
});

test("by the file dialog: a map from this computer is foreign until it is said to be trusted", async () => {
  const page = await at.open();
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.getByRole("button", { name: "Open a map …" }).first().click()]);
  await chooser.setFiles(path("general.mrail"));
  await page.getByRole("heading", { name: "general.mrail" }).waitFor();
  const { request } = rows("general_runs.jsonl")[0];
  await ask(page, request);
  assert.match(await page.locator(".answer-card").innerText(), /drafts, it does not answer/);
  const trust = page.getByRole("switch", { name: /may be used as the model/ });
  assert.equal(await trust.isChecked(), false);
  await trust.click();
  await page.getByText("Trusted: known prompts are answered.").waitFor();
  // The question stands, and now it is answered.
  await page.locator(".answer-time").waitFor();
  assert.equal(await page.getByLabel("Prompt", { exact: true }).inputValue(), request);
  await trust.click();
  await page.getByText("drafts, it does not answer").waitFor();
});

test("by drop, anywhere", async () => {
  const page = await at.open();
  const transfer = await page.evaluateHandle((content) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([Uint8Array.from(atob(content), (character) => character.charCodeAt(0))], "dropped.mrail"));
    return transfer;
  }, general.toString("base64"));
  await page.dispatchEvent("h1", "dragover", { dataTransfer: transfer });
  assert.ok(await page.getByText("Drop the map to open it").isVisible());
  await page.dispatchEvent("h1", "drop", { dataTransfer: transfer });
  await page.getByRole("heading", { name: "dropped.mrail" }).waitFor();
  assert.equal(await page.getByText("Drop the map to open it").isVisible(), false);
  assert.deepEqual(page.faults, []);
});

test("by an address typed in; a copy of the sample elsewhere is foreign", async () => {
  const page = await at.open();
  await page.getByLabel("From an address").fill("copy.mrail");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "copy.mrail" }).waitFor();
  assert.equal(await page.getByRole("switch").isChecked(), false);
});

test("from another site that allows it", async () => {
  const page = await at.open(`?url=${encodeURIComponent(`${other.url}public.mrail`)}`);
  await page.getByRole("heading", { name: "public.mrail" }).waitFor();
});

for (const [what, address, says, advises] of [
  ["a web page", "?url=page.mrail", /page\.mrail is no map: it is a web page \(HTML\)/, /raw file/],
  ["404", "?url=maps/missing.mrail", /has no file \/maps\/missing\.mrail \(it answered 404\)/, /Check the address/],
  ["403", "?url=forbidden.mrail", /does not give this file out .*403/, /download the file yourself/],
  ["an empty body", "?url=empty-body.mrail", /it is empty/, /fetch it again/],
  ["a broken connection", "?url=cut.mrail", /ended after 9\.0 KB/, /Try again/],
  ["no address", "?url=http://%5B", /is no address/, /whole address/],
  ["a scheme", "?url=file:///etc/hosts", /begins with file:/, /drop it here/],
]) {
  test(`in place of a map: ${what}`, async () => {
    const page = await at.open(address);
    const text = await alert(page);
    assert.match(text, says);
    assert.match(text, advises);
    // Never a white page, and a way on.
    assert.ok(await page.getByRole("heading", { level: 1 }).isVisible());
    await page.getByRole("alert").getByRole("button", { name: "Open the sample map" }).click();
    await page.getByRole("heading", { name: "coding.mrail" }).waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
  });
}

test("from another site that does not allow it", async () => {
  const page = await at.open(`?url=${encodeURIComponent(`${other.url}private.mrail`)}`);
  assert.match(await alert(page), /could not be read from this page[^]*CORS[^]*drop it here/);
});

test("a slow download shows how far it is, and can be cancelled", async () => {
  const page = await at.open("?url=slow.mrail");
  await page.getByText("50 % of 18 KB").waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  assert.equal(await page.getByText("Opening").count(), 0);
  assert.ok(await page.getByRole("button", { name: "Open the sample map" }).isVisible());
  await page.reload();
  await page.getByRole("heading", { name: "slow.mrail" }).waitFor();
});

test("a wrong file leaves the open map where it is", async () => {
  const page = await withSample(at);
  await page.locator('input[type="file"]').setInputFiles(path("coding_runs.jsonl"));
  assert.match(await alert(page), /coding_runs\.jsonl is no map: it looks like JSON/);
  await page.getByRole("button", { name: "Dismiss" }).click();
  await ask(page, rows("coding_runs.jsonl")[0].request);
  await page.locator(".answer-time").waitFor();
});

for (const [name, title] of [
  ["torn_payload.mrail", /ends inside a record[^]*Everything before is whole/],
  ["torn_header.mrail", /ends inside a record/],
]) {
  test(`${name} opens, and what is wrong with it is said`, async () => {
    const page = await at.open();
    await page.locator('input[type="file"]').setInputFiles(path(name));
    await page.getByRole("heading", { name }).waitFor();
    assert.match(await page.locator(".damage").innerText(), title);
    assert.match(await page.locator(".overview").innerText(), /torn end/);
    await page.getByRole("tab", { name: "Runs" }).click();
    await page.locator(".row-facts").first().waitFor();
  });
}

test("a damaged map opens up to the damage", async () => {
  const damaged = Buffer.from(readFileSync(path("coding.mrail")));
  // A record's header and what follows it, in the middle of the file.
  let record = 8;
  while (record < 60_000) record += 5 + damaged.readUInt32LE(record + 1);
  damaged.fill(0, record, record + 400);
  const page = await at.open();
  await page.locator('input[type="file"]').setInputFiles({ name: "damaged.mrail", mimeType: "", buffer: damaged });
  await page.getByRole("heading", { name: "damaged.mrail" }).waitFor();
  assert.match(await page.locator(".damage").innerText(), /damaged[^]*repair/);
});

test("every sample map opens", async () => {
  for (const name of ["general.mrail", "tracks.mrail"]) {
    const page = await at.open(`?url=maps/${name}#runs`);
    await page.locator(".row-facts").first().waitFor();
    await page.locator(".row").first().click();
    await page.locator("#run-name").waitFor();
    assert.deepEqual(page.faults, []);
  }
});
