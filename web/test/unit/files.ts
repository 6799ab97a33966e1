import type { Folder, SyncHandle } from "../../src/model/own-file.ts";

/** A browser's private files, for tests: one handle a file, and as much room and power as a test gives. */
export class Files {
  readonly kept = new Map<string, Uint8Array>();
  readonly held = new Set<string>();
  /** Bytes of all files together. */
  room = Infinity;
  /** Bytes that are still written; then the power is gone, and whoever writes is never heard of again. */
  power = Infinity;

  readonly folder = async (): Promise<Folder> => ({
    getFileHandle: async (name, options) => {
      if (!this.kept.has(name)) {
        if (!options?.create) throw new DOMException(name, "NotFoundError");
        this.kept.set(name, new Uint8Array());
      }
      return {
        createSyncAccessHandle: async () => {
          if (this.held.has(name)) throw new DOMException(name, "NoModificationAllowedError");
          this.held.add(name);
          return this.#handle(name);
        },
        getFile: async () => new Blob([this.kept.get(name) as Uint8Array<ArrayBuffer>]),
      };
    },
    removeEntry: async (name) => void this.kept.delete(name),
    keys: () => (async function* (names) { yield* names; })([...this.kept.keys()]),
  });

  /** What is there after a crash: locks are gone. */
  crashed(): Files {
    const after = new Files();
    for (const [name, bytes] of this.kept) after.kept.set(name, bytes.slice());
    return after;
  }

  #used(): number {
    return [...this.kept.values()].reduce((sum, { length }) => sum + length, 0);
  }

  #handle(name: string): SyncHandle {
    const content = (): Uint8Array => this.kept.get(name)!;
    const alive = (): void => {
      if (this.power <= 0) throw new Error("the power is gone");
    };
    const resize = (size: number): void => {
      const bytes = new Uint8Array(size);
      bytes.set(content().subarray(0, size));
      this.kept.set(name, bytes);
    };
    return {
      getSize: () => content().length,
      read: (into, { at }) => {
        const part = content().subarray(at, at + into.length);
        into.set(part);
        return part.length;
      },
      write: (bytes, { at }) => {
        alive();
        const grows = Math.max(0, at + bytes.length - content().length);
        if (this.#used() + grows > this.room) throw new DOMException("no", "QuotaExceededError");
        const part = bytes.subarray(0, this.power);
        this.power -= bytes.length;
        resize(Math.max(at + part.length, content().length));
        content().set(part, at);
        alive();
        return part.length;
      },
      truncate: (size) => (alive(), resize(size)),
      flush: alive,
      close: () => void this.held.delete(name),
    };
  }
}
