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

  attach(map: Uint8Array, _trusted: boolean, journal?: Journal): void {
    if (START.some((byte, i) => map[i] !== byte)) throw Object.assign(new Error("no map"), { kind: "not-a-map" });
    const { whole } = walk(map);
    this.#tail = map[whole] === BAD ? -(map.length - whole) : map.length - whole;
    [this.#bytes, this.#journal] = [map.slice(0, whole), journal];
  }

  mapBytes(): Uint8Array {
    return this.#bytes.slice();
  }

  mapInfo(): MapInfo {
    const tail = this.#tail === 0 ? "none" : this.#tail > 0 ? "torn" : "damaged";
    return { runs: walk(this.#bytes).runs, bytes: this.#bytes.length, tail, tailBytes: Math.abs(this.#tail), problems: 0 };
  }

  answer(...said: number[]): void {
    if (this.#tail < 0) throw new Error("needs repair");
    const record = Uint8Array.of(said.length, ...said);
    this.#journal?.append(this.#bytes.length, record);
    [this.#bytes, this.#tail] = [Uint8Array.of(...this.#bytes, ...record), 0];
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
    expect(first.own.state()).toEqual({ runs: 0, bytes: 3, kept: true, notes: [], aside: [] });
    first.holder.answer(1, 2, 3);
    first.holder.answer(4);
    first.own.close();
    const { own, holder } = await open(files);
    expect(own.state()).toEqual({ runs: 2, bytes: 9, kept: true, notes: [], aside: [] });
    expect(files.kept.get(NAME)).toEqual(holder.mapBytes());
    // Another map answers for a while; nothing of it is written to this one.
    holder.attach(file(1, 7), true);
    own.replaced();
    holder.answer(8);
    expect(own.state()).toMatchObject({ runs: 2, kept: false, why: expect.stringContaining("attached") });
    await own.attach();
    expect(own.state()).toMatchObject({ runs: 2, bytes: 9, kept: true });
    holder.answer(5);
    expect(files.kept.get(NAME)).toEqual(file(3, 1, 2, 3, 1, 4, 1, 5));
  });

  it("loses at most the record that was being written when the power went, at whatever byte", async () => {
    const record = [6, 10, 11, 12, 13, 14, 15];
    for (let power = 1; power < record.length; power++) {
      const files = new Files();
      const before = await open(files);
      before.holder.answer(1, 2);
      files.power = power;
      before.holder.answer(...record.slice(1));
      expect(before.own.state()).toMatchObject({ kept: false, runs: 2 });
      const after = files.crashed();
      expect(after.kept.get(NAME)).toEqual(file(2, 1, 2, ...record.slice(0, power)));
      const { own, holder } = await open(after);
      expect(own.state()).toMatchObject({ runs: 1, bytes: 6, kept: true, aside: [] });
      expect(own.state().notes).toHaveLength(1);
      // The tail is gone before anything is appended, and does not complete what is.
      expect(after.kept.get(NAME)).toEqual(file(2, 1, 2));
      holder.answer(9);
      own.close();
      expect((await open(after)).own.state()).toMatchObject({ runs: 2, notes: [] });
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
    expect(own.state()).toMatchObject({ runs: 3, kept: false, why: expect.stringContaining("no room left") });
    expect(files.kept.get(NAME)).toEqual(file(1, 1));
  });

  it("that another tab has is read and left alone; a tab that is about to go is waited for", async () => {
    const files = new Files();
    const first = await open(files);
    first.holder.answer(1);
    const second = await open(files);
    expect(second.own.state()).toMatchObject({ runs: 1, kept: false, why: expect.stringContaining("Another tab") });
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
    expect(own.state()).toEqual({ runs: 0, bytes: 3, kept: true, notes: [], aside: [] });
    expect([...files.kept]).toEqual([[NAME, file()]]);
    holder.answer(5);
    expect(files.kept.get(NAME)).toEqual(file(1, 5));
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

  it("is left as it is where there is no room to keep it: its good records are in memory", async () => {
    const files = new Files();
    files.kept.set(NAME, damaged);
    files.room = damaged.length + 2;
    const { own, holder } = await open(files);
    expect(own.state()).toMatchObject({ runs: 2, kept: false, aside: [], why: expect.stringContaining("no room left") });
    holder.answer(3);
    expect([...files.kept]).toEqual([[NAME, damaged]]);
    expect(files.held.size).toBe(0);
  });
});

it("the file's name says all that decides an answer", () => {
  const usual = { arithmetic: "f32", kv: "f16", memory: { band: 256, store: 1728, carriers: null } } as const;
  const others = [usual, { ...usual, kv: "f32" }, { ...usual, memory: "native" }, { ...usual, memory: { ...usual.memory, band: 64 } }, { ...usual, memory: { ...usual.memory, store: 64 } }] as const;
  const names = ["ab", "cd"].flatMap((hash) => others.map((numerics) => mapName(hash, numerics)));
  expect(names[0]).toBe("ab-f32-kv-f16-band-256-store-1728.mrail");
  expect(new Set(names).size).toBe(10);
});
