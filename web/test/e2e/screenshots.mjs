// Pictures of the page to look at, written to target/web-screenshots: `node test/e2e/screenshots.mjs`. Checks nothing.
import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { launch } from "./browser.mjs";
import { serve } from "./server.mjs";

const out = fileURLToPath(new URL("../../../target/web-screenshots/", import.meta.url));
await mkdir(out, { recursive: true });
const server = await serve();
const browser = await launch();

const sizes = { wide: { width: 1280, height: 860 }, phone: { width: 360, height: 740 } };
for (const [size, viewport] of Object.entries(sizes)) {
  for (const colorScheme of ["light", "dark"]) {
    const page = await browser.newPage({ viewport, colorScheme });
    const shot = async (name, fullPage = true) => page.screenshot({ path: `${out}${size}-${colorScheme}-${name}.png`, fullPage });
    page.on("console", (message) => message.type() === "error" && console.log(size, colorScheme, message.text()));
    page.on("pageerror", (error) => console.log(size, colorScheme, error.message));
    await page.goto(server.url);
    await shot("1-landing");
    await page.goto(`${server.url}?url=maps/coding.mrail`);
    await page.getByRole("button", { name: "Show others" }).waitFor();
    await shot("2-open");
    await page.locator(".suggestions .chip").first().click();
    await page.locator(".answer-card").waitFor();
    await shot("3-answer");
    await page.getByLabel("Prompt", { exact: true }).fill("Write a Python function that counts the penguins in a picture.");
    await page.keyboard.press("Enter");
    await page.locator(".answer-card.unknown").waitFor();
    await page.getByText("How the map would go on").click({ timeout: 1000 }).catch(() => {});
    await shot("4-unknown");
    await page.goto(`${server.url}?url=maps/coding.mrail#runs`);
    await page.locator(".row-facts").first().waitFor();
    await shot("5-runs", false);
    await page.locator(".row").nth(1).click();
    await page.locator("#run-name").waitFor();
    await page.locator(".run-detail .tokens summary").click();
    await page.locator(".run-detail .token-grid").waitFor();
    await shot("6-run");
    await page.goto(`${server.url}?url=maps/missing.mrail`);
    await page.getByRole("alert").waitFor();
    await shot("7-missing");
    await page.close();
  }
}
await browser.close();
await server.close();
