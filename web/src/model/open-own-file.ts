import { FailureError } from "../failure.ts";
import { OwnFile, said, type Folder } from "./own-file.ts";

/** A file, or why there is none and what could be read of it all the same. */
export type Opened = { file: OwnFile } | { why: string; copy?: Uint8Array };

/** A page that is loaded again may meet its own worker of before, which is about to go. */
const PATIENCE = 1500;
const PAUSE = 50;

const NOWHERE = "This browser has no files for pages, or not at an address like this one (it must begin with https).";
const REFUSED = "This browser does not let the page keep files: the window is private, or a setting forbids it.";
const HELD = "Another tab has this model’s map: what is added here is only in memory.";
const COPIED = "What that one had kept is known here, too.";

/** Opens or makes a file of the browser's private file system, in which nobody else can write as long as it is open. */
export async function openOwnFile(name: string, folder: () => Promise<Folder> = ownMaps, patience = PATIENCE): Promise<Opened> {
  let there: Folder;
  try {
    there = await folder();
  } catch (thrown) {
    return { why: thrown instanceof FailureError ? thrown.message : REFUSED };
  }
  try {
    const entry = await there.getFileHandle(name, { create: true });
    for (let waited = 0; ; waited += PAUSE) {
      try {
        return { file: new OwnFile(there, name, await entry.createSyncAccessHandle()) };
      } catch (thrown) {
        if (!isHeld(thrown)) throw thrown;
        if (waited >= patience) return copied(entry);
        await new Promise((resolve) => setTimeout(resolve, PAUSE));
      }
    }
  } catch (thrown) {
    return { why: `The file of this model’s map could not be opened: ${said(thrown)}.` };
  }
}

/** The folder of all own maps. */
async function ownMaps(): Promise<Folder> {
  const storage = (navigator as Partial<Navigator>).storage;
  if (storage?.getDirectory === undefined || !("createSyncAccessHandle" in FileSystemFileHandle.prototype)) {
    throw new FailureError({ kind: "storage", message: NOWHERE });
  }
  const root = await storage.getDirectory();
  return (await root.getDirectoryHandle("own-maps", { create: true })) as unknown as Folder;
}

/** WebKit has another name for it. */
function isHeld(thrown: unknown): boolean {
  return thrown instanceof DOMException && ["NoModificationAllowedError", "InvalidStateError"].includes(thrown.name);
}

/** What another tab has written so far, if it can be read while it writes. */
async function copied(entry: { getFile(): Promise<Blob> }): Promise<Opened> {
  try {
    return { why: `${HELD} ${COPIED}`, copy: new Uint8Array(await (await entry.getFile()).arrayBuffer()) };
  } catch {
    return { why: HELD };
  }
}
