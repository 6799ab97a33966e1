import type { Journal, MapInfo, Repaired } from "mrail-gpu";
import { describe, expect, it } from "vitest";
import { mapName } from "../../src/model/identity.ts";
import { openOwnFile } from "../../src/model/open-own-file.ts";
import { OwnMap, type MapHolder } from "../../src/model/own-map.ts";
import { Files } from "./files.ts";

const START = [...new TextEncoder().encode("MAP")];
/** A record is its length and so many bytes, none of which is this: it stands for damage. */
const BAD = 255;

function walk(bytes: Uint8Array): { whole: number; runs: number } {
  let [at, runs] = [START.length, 0];
  while (bytes[at] !== undefined && bytes[at] !== BAD && at + 1 + bytes[at]! <= bytes.length) [at, runs] = [at + 1 + bytes[at]!, runs + 1];
  return { whole: at, runs };
}

function repair(bytes: Uint8Array): Repaired {
  const good = bytes.filter((byte) => byte !== BAD);
  const { runs } = walk(good);
  return { bytes: good, kept: runs, recovered: 0, cutBytes: bytes.length - good.length };
}

/** What a runner does with its own map, with records of another form: the package's own are tested in a browser. */
class Holder implements MapHolder {
  #bytes = Uint8Array.from(START);
  #tail = 0;
  #journal: Journal | undefined;
  /** An answer is under way. */
  busy = false;
  /** How many maps only draft. */
  foreign = 0;

  attach(map: Uint8Array, trusted: boolean, journal?: Journal): void {
    this.#idle();
    if (START.some((byte, i) => map[i] !== byte)) throw Object.assign(new Error("no map"), { kind: "not-a-map" });
    if (!trusted) return void this.foreign++;
    const { whole } = walk(map);
    this.#tail = map[whole] === BAD ? -(map.length - whole) : map.length - whole;
    [this.#bytes, this.#journal] = [map.slice(0, whole), journal];
  }

  detach(): void {
    this.#idle();
    this.foreign = 0;
    this.attach(Uint8Array.from(START), true);
  }

  mapBytes(): Uint8Array {
    this.#idle();
    return this.#bytes.slice();
  }

  mapInfo(): MapInfo {
    this.#idle();
    const tail = this.#tail === 0 ? "none" : this.#tail > 0 ? "torn" : "damaged";
    return { runs: walk(this.#bytes).runs, bytes: this.#bytes.length, tail, tailBytes: Math.abs(this.#tail), problems: 0 };
  }

  answer(...said: number[]): void {
    if (this.#tail < 0) throw new Error("needs repair");
    const record = Uint8Array.of(said.length, ...said);
    this.#journal?.append(this.#bytes.length, record);
    [this.#bytes, this.#tail] = [Uint8Array.of(...this.#bytes, ...record), 0];
  }

  #idle(): void {
    if (this.busy) throw Object.assign(new Error("an answer is under way"), { kind: "busy" });
  }
}

const NAME = "model.mrail";
const file = (...bytes: number[]): Uint8Array => Uint8Array.of(...START, ...bytes);

async function open(files: Files, patience = 0): Promise<{ holder: Holder; own: OwnMap }> {
  const holder = new Holder();
  const own = new OwnMap(holder, repair, NAME, (name) => openOwnFile(name, files.folder, patience));
  await own.attach();
  return { holder, own };
}

describe("an own map", () => {
  it("is kept, and there again", async () => {
    const files = new Files();
    const first = await open(files);
    expect(first.own.state()).toEqual({ runs: 0, bytes: 3, kept: true, forgettable: false, notes: [], aside: [] });
    first.holder.answer(1, 2, 3);
    first.holder.answer(4);
    first.own.close();
    const { own, holder } = await open(files);
    expect(own.state()).toEqual({ runs: 2, bytes: 9, kept: true, forgettable: true, notes: [], aside: [] });
    expect(files.kept.get(NAME)).toEqual(holder.mapBytes());
  });

  it("has each answer for good as soon as the map has it", async () => {
    const files = new Files();
    const { holder } = await open(files);
    for (let said = 1; said < 4; said++) {
      holder.answer(said);
      for (const after of files.crashes()) expect(after.kept.get(NAME)).toEqual(holder.mapBytes());
    }
  });

  it("loses at most the record that was being written when the power went, at whatever byte", async () => {
    const record = [6, 10, 11, 12, 13, 14, 15];
    for (let power = 0; power < record.length; power++) {
      const files = new Files();
      const before = await open(files);
      before.holder.answer(1, 2);
      files.power = power;
      before.holder.answer(...record.slice(1));
      expect(before.own.state()).toMatchObject({ kept: false, runs: 2 });
      const all = files.crashes();
      expect(all.map((after) => after.kept.get(NAME))).toEqual([...new Set([0, power])].map((written) => file(2, 1, 2, ...record.slice(0, written))));
      for (const after of all) {
        const torn = after.kept.get(NAME)!.length > 6;
        const { own, holder } = await open(after);
        expect(own.state()).toMatchObject({ runs: 1, bytes: 6, kept: true, aside: [] });
        expect(own.state().notes).toHaveLength(torn ? 1 : 0);
        // The tail is gone for good before anything is appended, and does not complete what is.
        for (const again of after.crashes()) expect(again.kept.get(NAME)).toEqual(file(2, 1, 2));
        holder.answer(9);
        own.close();
        expect((await open(after)).own.state()).toMatchObject({ runs: 2, notes: [] });
      }
    }
  });

  it("that was only begun is begun again", async () => {
    for (let length = 0; length < START.length; length++) {
      const files = new Files();
      files.kept.set(NAME, Uint8Array.from(START.slice(0, length)));
      (await open(files)).holder.answer(1);
      expect(files.kept.get(NAME)).toEqual(file(1, 1));
    }
  });

  it("goes on in memory where there is no room, and says so", async () => {
    const files = new Files();
    const { own, holder } = await open(files);
    holder.answer(1);
    files.room = 6;
    holder.answer(2, 2);
    holder.answer(3);
    expect(own.state()).toMatchObject({ runs: 3, kept: false, forgettable: true, why: expect.stringContaining("no room left") });
    expect(files.kept.get(NAME)).toEqual(file(1, 1));
    // Forgotten, it is kept again.
    await own.forget();
    expect(own.state()).toEqual({ runs: 0, bytes: 3, kept: true, forgettable: false, notes: [], aside: [] });
    holder.answer(4);
    expect(files.kept.get(NAME)).toEqual(file(1, 4));
  });

  it("has nothing of a record that there was only room for a part of, whatever comes then", async () => {
    const files = new Files();
    const { own, holder } = await open(files);
    holder.answer(1);
    [files.room, files.partly] = [7, true];
    holder.answer(2, 2);
    expect(own.state()).toMatchObject({ runs: 2, kept: false, why: expect.stringContaining("only 2 of 3 bytes") });
    for (const after of [files, ...files.crashes()]) expect(after.kept.get(NAME)).toEqual(file(1, 1));
  });

  it("cuts what stands where a record is to be written", async () => {
    const files = new Files();
    files.kept.set(NAME, file(3, 1, 2, 3));
    const opened = await openOwnFile(NAME, files.folder);
    if ("why" in opened) throw new Error(opened.why);
    opened.file.append(3, Uint8Array.of(1, 9));
    expect(files.kept.get(NAME)).toEqual(file(1, 9));
    expect(() => opened.file.append(6, Uint8Array.of(1, 9))).toThrow("the file has 5 bytes");
  });

  it.each(["NoModificationAllowedError", "InvalidStateError"])("that another tab has is read and left alone; a tab that is about to go is waited for (%s)", async (refusal) => {
    const files = new Files();
    files.refusal = refusal;
    const first = await open(files);
    first.holder.answer(1);
    const second = await open(files);
    expect(second.own.state()).toMatchObject({ runs: 1, kept: false, forgettable: false, why: expect.stringContaining("Another tab") });
    second.holder.answer(2);
    second.own.close();
    expect(files.kept.get(NAME)).toEqual(file(1, 1));
    expect(files.held.size).toBe(1);
    setTimeout(() => first.own.close(), 60);
    expect((await open(files, 1000)).own.state()).toMatchObject({ runs: 1, kept: true });
  });

  it("is in memory where there are no files", async () => {
    const refused = new OwnMap(new Holder(), repair, NAME, (name) => openOwnFile(name, () => Promise.reject(new DOMException("no", "SecurityError"))));
    await refused.attach();
    expect(refused.state()).toMatchObject({ runs: 0, kept: false, why: expect.stringContaining("private") });
  });

  it("is forgotten for good", async () => {
    const files = new Files();
    files.kept.set(NAME, file(1, 1, BAD, 1, 2));
    const { own, holder } = await open(files);
    expect(files.kept.size).toBe(2);
    await own.forget();
    expect(own.state()).toEqual({ runs: 0, bytes: 3, kept: true, forgettable: false, notes: [], aside: [] });
    for (const after of [files, ...files.crashes()]) expect([...after.kept]).toEqual([[NAME, file()]]);
    holder.answer(5);
    expect(files.kept.get(NAME)).toEqual(file(1, 5));
  });
});

describe("other maps", () => {
  it("that draft leave the own one where it is, and it stays when they are left", async () => {
    const files = new Files();
    const { own, holder } = await open(files);
    holder.answer(1);
    holder.attach(file(1, 7), false);
    await own.leave();
    expect([holder.foreign, own.state().runs, own.state().kept]).toEqual([0, 1, true]);
    holder.answer(2);
    expect(files.kept.get(NAME)).toEqual(file(1, 1, 1, 2));
  });

  it("that are left take no answer with them that is only in memory", async () => {
    const files = new Files();
    const first = await open(files);
    first.holder.answer(1);
    const second = await open(files);
    const nowhere = new Holder();
    const none = new OwnMap(nowhere, repair, NAME, async () => ({ why: "no files" }));
    await none.attach();
    nowhere.answer(1);
    files.room = 5;
    first.holder.answer(9);
    for (const [holder, own] of [[first.holder, first.own], [second.holder, second.own], [nowhere, none]] as const) {
      holder.answer(2);
      const before = own.state();
      expect(before.kept).toBe(false);
      const bytes = holder.mapBytes();
      holder.attach(file(1, 7), false);
      await own.leave();
      expect([holder.mapBytes(), own.state(), holder.foreign]).toEqual([bytes, before, 0]);
      // The file is not in step with it, and must not go on as if it were.
      files.room = Infinity;
      holder.answer(3);
      expect(files.kept.get(NAME)).toEqual(file(1, 1));
    }
  });

  it("that are trusted answer in its place, and it is back when they are left", async () => {
    const files = new Files();
    const { own, holder } = await open(files);
    holder.answer(1);
    holder.attach(file(1, 7), true);
    own.replaced();
    holder.answer(8);
    expect(own.state()).toMatchObject({ runs: 2, kept: false, forgettable: false, why: expect.stringContaining("attached") });
    expect(files.kept.get(NAME)).toEqual(file(1, 1));
    await own.leave();
    expect(own.state()).toMatchObject({ runs: 1, bytes: 5, kept: true });
    holder.answer(5);
    expect(files.kept.get(NAME)).toEqual(file(1, 1, 1, 5));
  });

  it("are not left while an answer is under way, and nothing has changed then", async () => {
    const files = new Files();
    const other = await open(files);
    const holder = new Holder();
    const own = new OwnMap(holder, repair, NAME, (name) => openOwnFile(name, files.folder, patience));
    let patience = 0;
    await own.attach();
    holder.attach(file(1, 7), true);
    own.replaced();
    const [before, bytes] = [own.state(), holder.mapBytes()];
    // The file is waited for, and a question comes in between.
    patience = 1000;
    const leaving = own.leave();
    setTimeout(() => {
      holder.busy = true;
      other.own.close();
    }, 20);
    await expect(leaving).rejects.toThrow("under way");
    holder.busy = false;
    expect([own.state(), holder.mapBytes()]).toEqual([before, bytes]);
    await own.leave();
    holder.answer(2);
    const kept = own.state();
    holder.busy = true;
    await expect(own.leave()).rejects.toThrow("under way");
    await expect(own.forget()).rejects.toThrow("under way");
    holder.busy = false;
    expect([own.state(), files.kept.get(NAME)]).toEqual([kept, file(1, 2)]);
  });

  it("are left once where that is asked for twice", async () => {
    const files = new Files();
    const other = await open(files);
    const holder = new Holder();
    const own = new OwnMap(holder, repair, NAME, (name) => openOwnFile(name, files.folder, 100));
    await own.attach();
    other.own.close();
    holder.attach(file(1, 7), true);
    own.replaced();
    await Promise.all([own.leave(), own.leave()]);
    expect(own.state()).toMatchObject({ runs: 0, kept: true });
    holder.answer(2);
    expect(files.kept.get(NAME)).toEqual(file(1, 2));
  });

  it("that are left when the model is gone do not keep its file", async () => {
    const files = new Files();
    const other = await open(files);
    const { own, holder } = await open(files);
    other.own.close();
    holder.attach(file(1, 7), true);
    own.replaced();
    const leaving = own.leave();
    own.close();
    await expect(leaving).rejects.toThrow("closed");
    expect(files.held.size).toBe(0);
  });
});

describe("a damaged own map", () => {
  const damaged = file(1, 1, BAD, 1, 2);

  it("is kept under another name, and its good records go on", async () => {
    const files = new Files();
    files.kept.set(NAME, damaged);
    const { own, holder } = await open(files);
    const [aside, ...none] = own.state().aside;
    expect([own.state().runs, own.state().kept, aside?.bytes, none]).toEqual([2, true, damaged.length, []]);
    expect(own.state().notes.join()).toMatch(/2 records could be read, 1 B could not/);
    expect(await own.asideBytes(aside!.name)).toEqual(damaged);
    await expect(own.asideBytes(NAME)).rejects.toThrow("no file");
    holder.answer(3);
    expect(files.kept.get(NAME)).toEqual(file(1, 1, 1, 2, 1, 3));
    // A second one does not take the first one's place.
    own.close();
    expect(files.held.size).toBe(0);
    files.kept.set(NAME, file(BAD));
    expect((await open(files)).own.state().aside.map(({ bytes }) => bytes)).toEqual([damaged.length, 4]);
  });

  it("or something else is kept, and a new map begun", async () => {
    const files = new Files();
    const page = new TextEncoder().encode("<html>");
    files.kept.set(NAME, page);
    const { own } = await open(files);
    expect(own.state()).toMatchObject({ runs: 0, kept: true, notes: [expect.stringContaining("no map")] });
    expect(await own.asideBytes(own.state().aside[0]!.name)).toEqual(page);
    expect(files.kept.get(NAME)).toEqual(file());
  });

  it.each([false, true])("is left as it is where there is no room to keep it: its good records are in memory, and it can be saved and forgotten (partly %s)", async (partly) => {
    const files = new Files();
    files.kept.set(NAME, damaged);
    [files.room, files.partly] = [damaged.length + 2, partly];
    const { own, holder } = await open(files);
    const { why, ...state } = own.state();
    expect(state).toEqual({ runs: 2, bytes: 7, kept: false, forgettable: true, notes: [], aside: [{ name: NAME, bytes: damaged.length }] });
    expect(why).toMatch(partly ? "only 2 of 8 bytes" : "no room left");
    holder.answer(3);
    for (const after of [files, ...files.crashes()]) expect([...after.kept]).toEqual([[NAME, damaged]]);
    expect(await own.asideBytes(NAME)).toEqual(damaged);
    await own.forget();
    expect(own.state()).toEqual({ runs: 0, bytes: 3, kept: true, forgettable: false, notes: [], aside: [] });
    holder.answer(4);
    expect([...files.kept]).toEqual([[NAME, file(1, 4)]]);
    own.close();
    expect(files.held.size).toBe(0);
  });

  it("has the answer that comes while it is kept under another name", async () => {
    const files = new Files();
    files.kept.set(NAME, damaged);
    const holder = new Holder();
    const own = new OwnMap(holder, repair, NAME, (name) => openOwnFile(name, files.folder, 0));
    files.made = () => {
      holder.answer(3);
      expect(files.kept.get(NAME)).toEqual(damaged);
    };
    await own.attach();
    expect(own.state()).toMatchObject({ runs: 3, kept: true });
    expect([...files.kept.values()]).toEqual([file(1, 1, 1, 2, 1, 3), damaged]);
    // Neither that one nor one that takes its place meanwhile is written to the damaged file.
    own.close();
    files.kept.set(NAME, damaged);
    const next = new OwnMap(new Holder(), repair, NAME, (name) => openOwnFile(name, files.folder, 0));
    files.made = () => next.replaced();
    await next.attach();
    expect(files.kept.get(NAME)).toEqual(damaged);
  });

  it("is lost in no crash, at whatever step of its mending", async () => {
    for (let [power, mended] = [0, false]; !mended; power++) {
      const files = new Files();
      files.kept.set(NAME, damaged);
      files.power = power;
      const { own } = await open(files);
      mended = own.state().kept;
      for (const after of files.crashes()) {
        // Once mended, it is that for good.
        if (mended) expect([...after.kept.values()]).toEqual([file(1, 1, 1, 2), damaged]);
        expect([...after.kept.values()]).toContainEqual(damaged);
        const again = await open(after);
        expect(again.own.state().kept).toBe(true);
        again.holder.answer(3);
        for (const last of after.crashes()) {
          expect([...last.kept.values()]).toContainEqual(damaged);
          expect(last.kept.get(NAME)).toEqual(again.holder.mapBytes());
        }
      }
    }
  });

  it("is forgotten, or still there, after a crash at whatever step of that", async () => {
    for (let [power, forgotten] = [0, false]; !forgotten; power++) {
      const files = new Files();
      files.kept.set(NAME, damaged);
      const { own, holder } = await open(files);
      const whole = holder.mapBytes();
      files.power = power;
      forgotten = await own.forget().then(() => true, () => false);
      for (const after of files.crashes()) {
        expect([whole, file()]).toContainEqual(after.kept.get(NAME));
        if (forgotten) expect([...after.kept]).toEqual([[NAME, file()]]);
      }
    }
  });
});

it("the file's name says all that decides an answer", () => {
  const usual = { arithmetic: "f32", kv: "f16", memory: { band: 256, store: 1728, carriers: null } } as const;
  const others = [usual, { ...usual, kv: "f32" }, { ...usual, memory: "native" }, { ...usual, memory: { ...usual.memory, band: 64 } }, { ...usual, memory: { ...usual.memory, store: 64 } }] as const;
  const names = ["ab", "cd"].flatMap((hash) => others.map((numerics) => mapName(hash, numerics)));
  expect(names[0]).toBe("ab-f32-kv-f16-band-256-store-1728.mrail");
  expect(new Set(names).size).toBe(10);
});
