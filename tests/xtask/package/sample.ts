// Compiled, not run: a program as a user of the package would write it, so that the types are what they should be.
import init, { MrailMap, prefixHash, type Answer, type MapInfo, type MrailError, type Write } from "mrail";

export async function ask(bytes: Uint8Array, context: Uint32Array): Promise<Uint32Array | undefined> {
  await init();
  const map = MrailMap.open(bytes, { trusted: true, stride: 4, foreign: [{ bytes, limit: 3 }] });
  try {
    const info: MapInfo = map.info();
    const tail: "none" | "torn" | "damaged" = info.tail;
    const answer: Answer | undefined = map.exactAnswer(context, 64, Uint32Array.of(2));
    if (answer === undefined) {
      const { lcp } = map.locate(context);
      console.log(`${tail}: ${lcp} tokens known of ${prefixHash(context)}`);
    }
    const write: Write = map.appendSession(context, context.length);
    console.log(write.offset + write.bytes.length);
    return answer?.tokens;
  } catch (error) {
    const { kind, message } = error as MrailError;
    throw kind === "damaged" ? new Error(message) : error;
  } finally {
    map.free();
  }
}

// Whoever opens a map says whether it is trusted; the compiler says so too.
// @ts-expect-error
export const open = (bytes: Uint8Array): MrailMap => MrailMap.open(bytes, {});
