import type { Journal, repairMap, Runner } from "mrail-gpu";
import { asFailure } from "../failure.ts";
import { counted, formatBytes } from "../format.ts";
import { openOwnFile, type Opened } from "./open-own-file.ts";
import { said, type Aside, type OwnFile } from "./own-file.ts";
import type { OwnState } from "./protocol.ts";

/** What is used of a runner. */
export type MapHolder = Pick<Runner, "attach" | "detach" | "mapBytes" | "mapInfo">;

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
  /** Another map is the own one. */
  #replaced = false;
  /** The file cannot be gone on with: it stays as it is until it is forgotten. */
  #unusable = false;
  #notes: string[] = [];
  #aside: Aside[] = [];
  #closed = false;
  #last: Promise<void> = Promise.resolve();

  /** Of a runner that has a new map. */
  constructor(runner: MapHolder, repair: typeof repairMap, name: string, open: typeof openOwnFile = openOwnFile) {
    [this.#runner, this.#repair, this.#empty] = [runner, repair, runner.mapBytes()];
    this.#open = () => open(name);
  }

  /** Makes what is kept the runner's own map. */
  attach(): Promise<void> {
    return this.#alone(async () => this.#attachKept(await this.#reach()));
  }

  /** Leaves all maps that were attached. The own one stays; where another took its place, what is kept is back. */
  leave(): Promise<void> {
    return this.#alone(async () => {
      if (!this.#replaced) {
        const bytes = this.#runner.mapBytes();
        this.#runner.detach();
        return this.#runner.attach(bytes, true, this.#why === undefined ? this.#journal : undefined);
      }
      // Takes its time where the file must be opened; what follows is refused as a whole while an answer is under way.
      const opened = await this.#reach();
      this.#runner.detach();
      await this.#attachKept(opened);
    });
  }

  /** Another map has become the own one. */
  replaced(): void {
    [this.#why, this.#notes, this.#replaced] = [ATTACHED, [], true];
  }

  state(): OwnState {
    const { runs, bytes } = this.#runner.mapInfo();
    const aside = [...this.#aside];
    if (this.#file !== undefined && this.#unusable) aside.push({ name: this.#file.name, bytes: this.#file.size });
    const forgettable = this.#file !== undefined && !this.#replaced && (runs > 0 || aside.length > 0);
    return { runs, bytes, kept: this.#why === undefined, ...(this.#why !== undefined && { why: this.#why }), forgettable, notes: this.#notes, aside };
  }

  /** Removes all answers, and what was set aside. A file that could not be used is one again. */
  forget(): Promise<void> {
    return this.#alone(async () => {
      if (this.#file === undefined) return this.#runner.attach(this.#empty, true);
      // Refused while an answer is under way; nothing was done then.
      this.#runner.mapBytes();
      this.#file.replace(this.#empty);
      this.#runner.attach(this.#empty, true, this.#journal);
      [this.#why, this.#notes, this.#replaced, this.#unusable] = [undefined, [], false, false];
      await this.#file.removeAside();
      this.#aside = [];
    });
  }

  async asideBytes(name: string): Promise<Uint8Array> {
    if (this.#file !== undefined && this.#unusable && name === this.#file.name) return this.#file.read();
    if (this.#file === undefined || !this.#aside.some((aside) => aside.name === name)) throw new Error(`no file ${name} was set aside`);
    return this.#file.asideBytes(name);
  }

  /** Lets another tab have the file. */
  close(): void {
    this.#closed = true;
    this.#file?.close();
    this.#file = undefined;
  }

  /** One after another: what waits for files does not meet others that do. */
  #alone(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }

  /** The file, opened if it is not. */
  async #reach(): Promise<Opened> {
    if (this.#file !== undefined) return { file: this.#file };
    const opened = await this.#open();
    if ("why" in opened) return opened;
    // What cannot be listed cannot be offered; the map is none the worse for it.
    const aside = await opened.file.aside().catch(() => []);
    if (this.#closed) {
      opened.file.close();
      throw new Error("the map was closed");
    }
    [this.#file, this.#aside] = [opened.file, aside];
    return opened;
  }

  async #attachKept(opened: Opened): Promise<void> {
    [this.#why, this.#notes, this.#replaced, this.#unusable] = [undefined, [], false, false];
    if ("why" in opened) return this.#inMemory(opened.why, opened.copy);
    let bytes = this.#empty;
    let damage: string | undefined;
    try {
      bytes = opened.file.read();
      damage = this.#attachFile(opened.file, bytes);
    } catch (thrown) {
      return this.#inMemory(this.#leftAlone(thrown), bytes);
    }
    if (damage !== undefined) await this.#renew(opened.file, bytes, damage);
  }

  /** If the file is damaged, in which way: what is good is the own map then, and not yet in the file. */
  #attachFile(file: OwnFile, bytes: Uint8Array): string | undefined {
    // A file that is new, or was only begun.
    if (bytes.length <= this.#empty.length && bytes.every((byte, i) => byte === this.#empty[i])) {
      if (bytes.length < this.#empty.length) file.replace(this.#empty);
      this.#runner.attach(this.#empty, true, this.#journal);
      return undefined;
    }
    try {
      this.#runner.attach(bytes, true, this.#journal);
    } catch (thrown) {
      return this.#beginAnew(thrown);
    }
    const { tail, tailBytes, problems, bytes: whole } = this.#runner.mapInfo();
    if (tail === "damaged" || problems > 0) return this.#mend(bytes);
    if (tail === "torn") {
      file.cut(whole);
      this.#notes.push(`The last write had been interrupted: its ${formatBytes(tailBytes)} were cut off, and all before is there.`);
    }
    return undefined;
  }

  /** Goes on with what is good in a damaged file. */
  #mend(bytes: Uint8Array): string {
    const { bytes: good, kept, cutBytes } = this.#repair(bytes);
    try {
      // Checked before anything is written: the records that were found may be of no token of the model's.
      this.#runner.attach(good, true);
    } catch (thrown) {
      return this.#beginAnew(thrown);
    }
    return `The map was damaged: ${counted(kept, "record")} could be read, ${formatBytes(cutBytes)} could not.`;
  }

  /** Begins a new map in place of one that is none of this model's. */
  #beginAnew(why: unknown): string {
    if (!["not-a-map", "wrong-map"].includes(asFailure(why).kind)) throw why;
    this.#runner.attach(this.#empty, true);
    return `The map could not be used, and a new one was begun: ${said(why)}.`;
  }

  /** Puts the own map in place of a damaged file, which is kept. */
  async #renew(file: OwnFile, damaged: Uint8Array, damage: string): Promise<void> {
    try {
      this.#aside = [...this.#aside, await file.setAside(damaged)];
      if (this.#replaced) return;
      // With what was answered meanwhile.
      const own = this.#runner.mapBytes();
      file.replace(own);
      this.#runner.attach(own, true, this.#journal);
      this.#notes.push(`${damage} The damaged file is kept.`);
    } catch (thrown) {
      this.#why ??= this.#leftAlone(thrown);
    }
  }

  /** Nothing is written to the file from now on; why that is. */
  #leftAlone(thrown: unknown): string {
    this.#unusable = true;
    return `The file of this model’s map could not be used: ${said(thrown)}.`;
  }

  /** What is added from now on is not kept; what could be read is there. */
  #inMemory(why: string, bytes: Uint8Array = this.#empty): void {
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
