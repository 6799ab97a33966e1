/** The part that is used of `FileSystemSyncAccessHandle`, which is only in workers: the page's types leave it out. */
export interface SyncHandle {
  getSize(): number;
  read(into: Uint8Array, options: { at: number }): number;
  write(bytes: Uint8Array, options: { at: number }): number;
  truncate(size: number): void;
  flush(): void;
  close(): void;
}

/** The same of `FileSystemDirectoryHandle`, and of its files. */
export interface Folder {
  getFileHandle(name: string, options?: { create: boolean }): Promise<{ createSyncAccessHandle(): Promise<SyncHandle>; getFile(): Promise<Blob> }>;
  removeEntry(name: string): Promise<void>;
  keys(): AsyncIterable<string>;
}

/** A damaged file that was kept. */
export interface Aside {
  name: string;
  bytes: number;
}

/** What was thrown, for a sentence. */
export function said(thrown: unknown): string {
  if (thrown instanceof DOMException && thrown.name === "QuotaExceededError") return "there is no room left in this browser";
  return (thrown instanceof Error ? thrown.message : String(thrown)).replace(/\.$/, "");
}

/** The file of an own map. All but the damaged files beside it is done when a call returns. */
export class OwnFile {
  readonly name: string;
  readonly #folder: Folder;
  readonly #handle: SyncHandle;
  /** What the files are called that were set aside, up to their numbers. */
  readonly #aside: string;

  constructor(folder: Folder, name: string, handle: SyncHandle) {
    [this.#folder, this.name, this.#handle] = [folder, name, handle];
    this.#aside = name.replace(/\.mrail$/, "") + "-damaged-";
  }

  get size(): number {
    return this.#handle.getSize();
  }

  read(): Uint8Array {
    const bytes = new Uint8Array(this.#handle.getSize());
    const read = this.#handle.read(bytes, { at: 0 });
    if (read !== bytes.length) throw new Error(`only ${read} of ${bytes.length} bytes could be read`);
    return bytes;
  }

  /** Cuts the file to `offset` and writes there; after an error everything before that is still there, and nothing behind it. */
  append(offset: number, bytes: Uint8Array): void {
    const size = this.#handle.getSize();
    if (size < offset) throw new Error(`the file has ${size} bytes, and the next record goes to ${offset}`);
    if (size > offset) this.#handle.truncate(offset);
    try {
      write(this.#handle, offset, bytes);
      this.#handle.flush();
    } catch (thrown) {
      // What there is of the record must not stand before the next one; if this fails, too, opening cuts it off.
      try {
        this.#handle.truncate(offset);
        this.#handle.flush();
      } catch {}
      throw thrown;
    }
  }

  /** Leaves only the first bytes. */
  cut(length: number): void {
    this.#handle.truncate(length);
    this.#handle.flush();
  }

  /** Writes something else in place of all there is, and cuts what is left of it only when that is done. */
  replace(bytes: Uint8Array): void {
    write(this.#handle, 0, bytes);
    this.cut(bytes.length);
  }

  /** Keeps bytes under another name; when this returns, they are there. */
  async setAside(bytes: Uint8Array): Promise<Aside> {
    const numbers = (await this.#names()).map((name) => Number.parseInt(name.slice(this.#aside.length), 10) || 0);
    const name = `${this.#aside}${Math.max(0, ...numbers) + 1}.mrail`;
    const entry = await this.#folder.getFileHandle(name, { create: true });
    const handle = await entry.createSyncAccessHandle();
    try {
      write(handle, 0, bytes);
      handle.flush();
    } catch (thrown) {
      handle.close();
      await this.#folder.removeEntry(name).catch(() => {});
      throw thrown;
    }
    handle.close();
    return { name, bytes: bytes.length };
  }

  /** What was set aside, in the order in which that was done. */
  async aside(): Promise<Aside[]> {
    return Promise.all((await this.#names()).map(async (name) => ({ name, bytes: (await this.#asideFile(name)).size })));
  }

  async asideBytes(name: string): Promise<Uint8Array> {
    return new Uint8Array(await (await this.#asideFile(name)).arrayBuffer());
  }

  async removeAside(): Promise<void> {
    for (const name of await this.#names()) await this.#folder.removeEntry(name);
  }

  close(): void {
    this.#handle.close();
  }

  async #asideFile(name: string): Promise<Blob> {
    return (await this.#folder.getFileHandle(name)).getFile();
  }

  async #names(): Promise<string[]> {
    const names: string[] = [];
    for await (const name of this.#folder.keys()) if (name.startsWith(this.#aside)) names.push(name);
    return names.sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
  }
}

/** In one write. A browser says how much of it there was room for. */
function write(handle: SyncHandle, at: number, bytes: Uint8Array): void {
  const written = handle.write(bytes, { at });
  if (written !== bytes.length) throw new Error(`only ${written} of ${bytes.length} bytes could be written`);
}
