import type { Journal, repairMap, Runner } from "mrail-gpu";
import { asFailure } from "../failure.ts";
import { counted, formatBytes } from "../format.ts";
import { openOwnFile, type Opened } from "./open-own-file.ts";
import { said, type Aside, type OwnFile } from "./own-file.ts";
import type { OwnState } from "./protocol.ts";

/** What is used of a runner. */
export type MapHolder = Pick<Runner, "attach" | "mapBytes" | "mapInfo">;

const ATTACHED = "An attached map: what is added to it is only in memory. The one that this browser keeps is back when all maps are left.";

/**
 * A model's own map: in a file of this browser where that is possible, in memory where it is not. A damaged file is kept under
 * another name before anything is written in its place.
 */
export class OwnMap {
  readonly #runner: MapHolder;
  readonly #repair: typeof repairMap;
  readonly #open: () => Promise<Opened>;
  /** The file of a map without records. */
  readonly #empty: Uint8Array;
  readonly #journal: Journal = { append: (offset, bytes) => this.#append(offset, bytes) };
  #file: OwnFile | undefined;
  /** Why what is added is only in memory. */
  #why: string | undefined;
  #notes: string[] = [];
  #aside: Aside[] = [];

  /** Of a runner that has a new map. */
  constructor(runner: MapHolder, repair: typeof repairMap, name: string, open: typeof openOwnFile = openOwnFile) {
    [this.#runner, this.#repair, this.#empty] = [runner, repair, runner.mapBytes()];
    this.#open = () => open(name);
  }

  /** Makes what is kept the runner's own map. */
  async attach(): Promise<void> {
    [this.#why, this.#notes] = [undefined, []];
    if (this.#file === undefined) {
      const opened = await this.#open();
      if ("why" in opened) return this.#inMemory(opened.why, opened.copy);
      this.#file = opened.file;
    }
    let bytes = this.#empty;
    try {
      bytes = this.#file.read();
      await this.#attachFile(this.#file, bytes);
      this.#aside = await this.#file.aside();
    } catch (thrown) {
      this.#inMemory(`The file of this model’s map is left as it is: ${said(thrown)}.`, bytes);
    }
  }

  /** Another map has become the own one. */
  replaced(): void {
    [this.#why, this.#notes] = [ATTACHED, []];
  }

  state(): OwnState {
    const { runs, bytes } = this.#runner.mapInfo();
    return { runs, bytes, kept: this.#why === undefined, ...(this.#why !== undefined && { why: this.#why }), notes: this.#notes, aside: this.#aside };
  }

  /** Removes all answers, and what was set aside. */
  async forget(): Promise<void> {
    // Refused while an answer is under way; nothing was done then.
    this.#runner.attach(this.#empty, true, this.#journal);
    if (this.#file === undefined) return;
    this.#file.replace(this.#empty);
    [this.#why, this.#notes, this.#aside] = [undefined, [], []];
    await this.#file.removeAside();
  }

  async asideBytes(name: string): Promise<Uint8Array> {
    if (this.#file === undefined || !this.#aside.some((aside) => aside.name === name)) throw new Error(`no file ${name} was set aside`);
    return this.#file.asideBytes(name);
  }

  /** Lets another tab have the file. */
  close(): void {
    this.#file?.close();
    this.#file = undefined;
  }

  async #attachFile(file: OwnFile, bytes: Uint8Array): Promise<void> {
    // A file that is new, or was only begun.
    if (bytes.length <= this.#empty.length && bytes.every((byte, i) => byte === this.#empty[i])) {
      if (bytes.length < this.#empty.length) file.replace(this.#empty);
      return this.#runner.attach(this.#empty, true, this.#journal);
    }
    try {
      this.#runner.attach(bytes, true, this.#journal);
    } catch (thrown) {
      return this.#startAnew(file, bytes, thrown);
    }
    const { tail, tailBytes, problems, bytes: whole } = this.#runner.mapInfo();
    if (tail === "damaged" || problems > 0) return this.#mend(file, bytes);
    if (tail === "torn") {
      file.cut(whole);
      this.#notes.push(`The last write had been interrupted: its ${formatBytes(tailBytes)} were cut off, and all before is there.`);
    }
  }

  /** Goes on with what is good in a damaged file, which is kept. */
  async #mend(file: OwnFile, bytes: Uint8Array): Promise<void> {
    const { bytes: good, kept, cutBytes } = this.#repair(bytes);
    try {
      // Checked before anything is written: the records that were found may be of no token of the model's.
      this.#runner.attach(good, true, this.#journal);
    } catch (thrown) {
      return this.#startAnew(file, bytes, thrown);
    }
    await file.setAside(bytes);
    file.replace(good);
    this.#notes.push(`The map was damaged: ${counted(kept, "record")} could be read, ${formatBytes(cutBytes)} could not. The damaged file is kept.`);
  }

  /** Begins a new map in place of a file that is none of this model's, which is kept. */
  async #startAnew(file: OwnFile, bytes: Uint8Array, why: unknown): Promise<void> {
    if (!["not-a-map", "wrong-map"].includes(asFailure(why).kind)) throw why;
    await file.setAside(bytes);
    file.replace(this.#empty);
    this.#runner.attach(this.#empty, true, this.#journal);
    this.#notes.push(`The map could not be used, and a new one was begun: ${said(why)}. The damaged file is kept.`);
  }

  /** What is added from now on is not kept; what could be read is there. */
  #inMemory(why: string, bytes: Uint8Array = this.#empty): void {
    this.close();
    this.#why = why;
    try {
      this.#runner.attach(bytes, true);
      if (this.#runner.mapInfo().tail === "damaged") this.#runner.attach(this.#repair(bytes).bytes, true);
    } catch {
      // No map, or none of this model.
      this.#runner.attach(this.#empty, true);
    }
  }

  /** The map takes in what is told to its journal, whatever becomes of the file: an answer is not lost for it. */
  #append(offset: number, bytes: Uint8Array): void {
    if (this.#why !== undefined || this.#file === undefined) return;
    try {
      this.#file.append(offset, bytes);
    } catch (thrown) {
      this.#why = `The last answer could not be written: ${said(thrown)}. The answers before it are kept in this browser, later ones are not.`;
    }
  }
}
