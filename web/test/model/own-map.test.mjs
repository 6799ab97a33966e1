// A model's own map, kept by the browser: after a reload, after a crash, beside a second tab, and forgotten.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { serve } from "../e2e/server.mjs";
import { seededModel } from "./fixture.mjs";
import { ask, BROWSERS, damage, files, loaded, own, press, until } from "./tabs.mjs";

const KEPT = "kept in this browser";

let server;
let page;
before(async () => {
  const [one, other] = [await seededModel(), await seededModel(2)];
  server = await serve({ "/tiny.gguf": (_, response) => response.end(one), "/other.gguf": (_, response) => response.end(other) });
  page = `${server.url}model.html?model=tiny.gguf`;
});
after(() => server?.close());

for (const [name, launch] of Object.entries(BROWSERS)) {
  describe(name, { timeout: 300_000 }, () => {
    let browser;
    let tab;
    /** Leaves the model's page, and with it the files. */
    const leave = () => tab.goto(server.url);

    before(async () => (browser = await launch()));
    after(() => browser?.close());
    // A profile for all tests: each begins with no file.
    const fresh = (what, work) =>
      test(what, async () => {
        tab = await browser.tab();
        try {
          await leave();
          await until(tab, async () => {
            await (await navigator.storage.getDirectory()).removeEntry("own-maps", { recursive: true }).catch((error) => {
              if (error.name !== "NotFoundError") throw error;
            });
            return true;
          });
          await work();
        } finally {
          await tab.close();
        }
      });

    fresh("an answer is there after a reload, and for no other model", async () => {
      await tab.goto(page);
      assert.deepEqual(await loaded(tab), { where: KEPT, runs: 0, notes: "" });
      const first = await ask(tab, "the hen");
      assert.ok(first.evaluated > 0);
      assert.deepEqual(await own(tab), { where: KEPT, runs: 1, notes: "" });
      await tab.reload();
      assert.equal((await loaded(tab)).runs, 1);
      assert.deepEqual(await ask(tab, "the hen"), { text: first.text, origins: ["map"], evaluated: 0 });
      // A page that goes in the middle of an answer lets the next one have the file.
      await tab.run(async () => ([document.querySelector("#prompt").value, document.querySelector("#max-new").value] = ["the hat", "4000"]));
      await press(tab, "Answer");
      await until(tab, async () => document.querySelector(".answer-card[data-state='running'] .from"));
      await tab.reload();
      assert.equal((await loaded(tab)).where, KEPT);
      assert.equal((await ask(tab, "the hen")).evaluated, 0);
      // So does one that the browser keeps for the way back; on that way it loads the model again.
      await leave();
      await tab.goto(page);
      assert.equal((await loaded(tab)).where, KEPT);
      await leave();
      await tab.back();
      assert.equal((await loaded(tab)).where, KEPT);
      assert.equal((await ask(tab, "the hen")).evaluated, 0);
      await tab.goto(`${server.url}model.html?model=other.gguf`);
      assert.deepEqual(await loaded(tab), { where: KEPT, runs: 0, notes: "" });
      assert.ok((await ask(tab, "the hen")).evaluated > 0);
      assert.equal((await files(tab)).size, 2);
    });

    fresh("a write that was interrupted is cut off, and what was before it is there", async () => {
      await tab.goto(page);
      await loaded(tab);
      const answers = [await ask(tab, "the hen"), await ask(tab, "the hat")];
      await leave();
      const [[name, bytes]] = await files(tab);
      const second = firstRecordEnd(bytes);
      for (const length of [second + 3, bytes.length - 1]) {
        await damage(tab, name, bytes.slice(0, length));
        await tab.goto(page);
        const { where, runs, notes } = await loaded(tab);
        assert.deepEqual([where, runs], [KEPT, 1]);
        assert.match(notes, new RegExp(`its ${length - second} B were cut off`));
        assert.equal((await files(tab)).get(name).length, second);
        assert.equal((await ask(tab, "the hen")).evaluated, 0);
        const again = await ask(tab, "the hat");
        assert.equal(again.text, answers[1].text);
        assert.ok(again.evaluated > 0);
        await leave();
        assert.deepEqual([...(await files(tab))], [[name, bytes]]);
      }
    });

    fresh("a damaged map is kept, and its good records answer", async () => {
      await tab.goto(page);
      await loaded(tab);
      await ask(tab, "the hen");
      await ask(tab, "the hat");
      await leave();
      const [[name, bytes]] = await files(tab);
      // The first record's length reaches past the end: it hides the second one.
      const damaged = bytes.with(11, bytes[11] ^ 0x40);
      await damage(tab, name, damaged);
      await tab.goto(page);
      const { where, runs, notes } = await loaded(tab);
      assert.deepEqual([where, runs], [KEPT, 1]);
      assert.match(notes, /1 record could be read/);
      assert.match(notes, /Save the damaged file/);
      assert.equal((await ask(tab, "the hat")).evaluated, 0);
      const others = [...(await files(tab))].filter(([other]) => other !== name);
      assert.deepEqual(others.map(([, bytes]) => bytes), [damaged]);
      // It is offered from now on, and said once.
      await tab.reload();
      assert.match((await loaded(tab)).notes, /^Save the damaged file \([^)]+\)$/);
      await press(tab, "Forget …");
      await press(tab, "Forget for good");
      await until(tab, async () => document.querySelector(".map-notes").innerText === "");
      assert.deepEqual([...(await files(tab))], [[name, bytes.slice(0, 8)]]);
    });

    fresh("a second tab knows what the first one kept, says that it keeps nothing, and has the map when it is alone", async () => {
      await tab.goto(page);
      await loaded(tab);
      await ask(tab, "the hen");
      const second = await browser.tab();
      try {
        await second.goto(page);
        const { where, runs, notes } = await loaded(second);
        assert.deepEqual([where, runs], ["in memory", 1]);
        assert.match(notes, /Another tab has this model’s map/);
        assert.equal((await ask(second, "the hen")).evaluated, 0);
        assert.ok((await ask(second, "the hat")).evaluated > 0);
        assert.equal((await own(second)).runs, 2);
        assert.equal((await ask(second, "the hat")).evaluated, 0);
        // The first one goes on, and has only its own.
        assert.ok((await ask(tab, "hens in hats")).evaluated > 0);
        assert.deepEqual(await own(tab), { where: KEPT, runs: 2, notes: "" });
        await leave();
        await second.reload();
        assert.deepEqual(await loaded(second), { where: KEPT, runs: 2, notes: "" });
        assert.equal((await ask(second, "hens in hats")).evaluated, 0);
        assert.ok((await ask(second, "the hat")).evaluated > 0);
      } finally {
        await second.close();
      }
    });

    fresh("what is forgotten is gone, and nothing is before the question is answered", async () => {
      await tab.goto(page);
      await loaded(tab);
      const first = await ask(tab, "the hen");
      const [[name, bytes]] = await files(tab);
      await press(tab, "Forget …");
      await press(tab, "Keep");
      assert.equal((await own(tab)).runs, 1);
      assert.deepEqual((await files(tab)).get(name), bytes);
      await press(tab, "Forget …");
      await press(tab, "Forget for good");
      await until(tab, async () => document.querySelector(".map-size").textContent.startsWith("0 runs"));
      assert.deepEqual([...(await files(tab))], [[name, bytes.slice(0, 8)]]);
      await tab.reload();
      assert.deepEqual(await loaded(tab), { where: KEPT, runs: 0, notes: "" });
      const again = await ask(tab, "the hen");
      assert.equal(again.text, first.text);
      assert.ok(again.evaluated > 0);
    });
  });
}

/** Where the first record of a map ends: kind, length of 32 bits, and so many bytes, behind 8 of the file's own. */
function firstRecordEnd(bytes) {
  return 8 + 5 + new DataView(Uint8Array.from(bytes).buffer).getUint32(9, true);
}
