import type { Folder, SyncHandle } from "../../src/model/own-file.ts";

type Change = (bytes: Uint8Array) => Uint8Array;

/**
 * A browser's private files, for tests: one handle a file, and as much room and power as a test gives. What was written is read
 * from then on; a crash leaves of it what was flushed, and so many of the changes after that as it likes.
 */
export class Files {
  readonly kept = new Map<string, Uint8Array>();
  readonly held = new Set<string>();
  /** Bytes of all files together. */
  room = Infinity;
  /** Where there is room for a part, that part is written, as browsers may; otherwise nothing is. */
  partly = false;
  /** Steps that are still done: a byte written, or a file cut, flushed, made or removed. Then whoever works is never heard of again. */
  power = Infinity;
  /** What a file that is in another's hands is called by this browser. */
  refusal = "NoModificationAllowedError";
  /** Told when a file was made. */
  made: (name: string) => void = () => {};
  /** What was flushed of a file that was changed since, and the changes. */
  readonly #unflushed = new Map<string, { before: Uint8Array; changes: Change[] }>();

  readonly folder = async (): Promise<Folder> => ({
    getFileHandle: async (name, options) => {
      if (!this.kept.has(name)) {
        if (!options?.create) throw new DOMException(name, "NotFoundError");
        this.#step();
        this.kept.set(name, new Uint8Array());
        this.made(name);
      }
      return {
        createSyncAccessHandle: async () => {
          if (this.held.has(name)) throw new DOMException(name, this.refusal);
          this.held.add(name);
          return this.#handle(name);
        },
        getFile: async () => new Blob([this.kept.get(name) as Uint8Array<ArrayBuffer>]),
      };
    },
    removeEntry: async (name) => {
      this.#step();
      this.kept.delete(name);
      this.#unflushed.delete(name);
    },
    keys: () => (async function* (names) { yield* names; })([...this.kept.keys()]),
  });

  /** All that may be there after a crash; locks are gone. The first one has nothing that was not flushed, the last one everything. */
  crashes(): Files[] {
    const most = Math.max(0, ...[...this.#unflushed.values()].map(({ changes }) => changes.length));
    return Array.from({ length: most + 1 }, (_, done) => {
      const after = new Files();
      for (const [name, bytes] of this.kept) {
        const { before, changes } = this.#unflushed.get(name) ?? { before: bytes, changes: [] };
        after.kept.set(name, changes.slice(0, done).reduce<Uint8Array>((bytes, change) => change(bytes), before.slice()));
      }
      return after;
    });
  }

  #step(): void {
    if (this.power <= 0) throw new Error("the power is gone");
    this.power--;
  }

  #change(name: string, change: Change): void {
    const bytes = this.kept.get(name)!;
    const unflushed = this.#unflushed.get(name) ?? { before: bytes, changes: [] };
    unflushed.changes.push(change);
    this.#unflushed.set(name, unflushed);
    this.kept.set(name, change(bytes));
  }

  #handle(name: string): SyncHandle {
    const content = (): Uint8Array => this.kept.get(name)!;
    return {
      getSize: () => content().length,
      read: (into, { at }) => {
        const part = content().subarray(at, at + into.length);
        into.set(part);
        return part.length;
      },
      write: (bytes, { at }) => {
        const used = [...this.kept.values()].reduce((sum, { length }) => sum + length, 0);
        const fits = Math.min(bytes.length, Math.max(0, content().length + this.room - used - at));
        if (fits < bytes.length && !(this.partly && fits > 0)) throw new DOMException("no", "QuotaExceededError");
        const part = bytes.slice(0, Math.min(fits, this.power));
        this.power -= part.length;
        if (part.length > 0) this.#change(name, (before) => written(before, at, part));
        if (part.length < fits) this.#step();
        return part.length;
      },
      truncate: (size) => {
        this.#step();
        this.#change(name, (before) => resized(before, size));
      },
      flush: () => {
        this.#step();
        this.#unflushed.delete(name);
      },
      close: () => void this.held.delete(name),
    };
  }
}

function resized(bytes: Uint8Array, size: number): Uint8Array {
  const after = new Uint8Array(size);
  after.set(bytes.subarray(0, size));
  return after;
}

function written(bytes: Uint8Array, at: number, part: Uint8Array): Uint8Array {
  const after = resized(bytes, Math.max(at + part.length, bytes.length));
  after.set(part, at);
  return after;
}
