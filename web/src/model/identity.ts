import type { Digest, Numerics } from "mrail-gpu";
import { breathe, type Call } from "../worker/serve.ts";
import type { ModelProgress } from "./protocol.ts";

/** Bytes that are hashed between two looks at messages. */
const PIECE = 4 << 20;

/** The hash of a whole file: two models may differ in their weights alone. */
export async function modelHash(file: Uint8Array | Blob, digest: Digest, call: Call<ModelProgress>): Promise<string> {
  const total = file instanceof Blob ? file.size : file.length;
  for (let done = 0; done < total; done += PIECE) {
    call.progress({ stage: "identity", done, total });
    await breathe(call.signal);
    const piece = file.slice(done, done + PIECE);
    digest.update(piece instanceof Blob ? new Uint8Array(await piece.arrayBuffer()) : piece);
  }
  return digest.hex();
}

/**
 * The name of a map's file: all that decides its answers, as `mrail-decode` writes it beside a map. What differs in any of it has a
 * map of its own.
 */
export function mapName(hash: string, { arithmetic, kv, memory }: Numerics): string {
  const kept = memory === "native" ? memory : `band-${memory.band}-store-${memory.store}`;
  // A GPU's name may have anything in it.
  const rounding = arithmetic.replace(/[^A-Za-z0-9.]+/g, "-");
  return `${hash}-${rounding}-kv-${kv}-${kept}.mrail`;
}
