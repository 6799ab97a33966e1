// Pictures of the page that runs a model, written to target/web-screenshots: `node test/model/screenshots.mjs`. Checks nothing.
import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { serve } from "../e2e/server.mjs";
import { answer, launchWithGpu, loaded, seededModel } from "./fixture.mjs";
import { damage, files } from "./tabs.mjs";

const out = fileURLToPath(new URL("../../../target/web-screenshots/", import.meta.url));
await mkdir(out, { recursive: true });
const model = await seededModel();
const server = await serve({ "/tiny.gguf": (_, response) => response.end(model) });
const browser = await launchWithGpu();

const sizes = { wide: { width: 1280, height: 860 }, phone: { width: 390, height: 800 } };
for (const [size, viewport] of Object.entries(sizes)) {
  for (const colorScheme of ["light", "dark"]) {
    const context = await browser.newContext({ viewport, colorScheme });
    const page = await context.newPage();
    const tab = { run: (work, argument) => page.evaluate(work, argument) };
    const shot = async (name, of = page) => of.screenshot({ path: `${out}model-${size}-${colorScheme}-${name}.png`, fullPage: true });
    page.on("console", (message) => message.type() === "error" && console.log(size, colorScheme, message.text()));
    page.on("pageerror", (error) => console.log(size, colorScheme, error.message));
    const address = `${server.url}model.html?model=tiny.gguf`;
    await page.goto(`${server.url}model.html`);
    await shot("1-nothing");
    await page.goto(address);
    await loaded(page);
    await answer(page, "the hen");
    await answer(page, "the hat", { maxNew: 60 });
    await shot("2-kept");
    await page.getByRole("button", { name: "Forget …" }).click();
    await shot("3-forget");
    const second = await context.newPage();
    await second.goto(address);
    await loaded(second);
    await shot("4-second-tab", second);
    await second.close();
    await page.goto(server.url);
    const [[name, bytes]] = await files(tab);
    await damage(tab, name, bytes.with(11, bytes[11] ^ 0x40));
    await page.goto(address);
    await loaded(page);
    await shot("5-damaged");
    await context.close();
  }
}
await browser.close();
await server.close();
