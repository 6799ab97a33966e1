import type { Answer, DraftTree, Located, MapInfo, MrailMap, RecordInfo, RunInfo, RunTokens } from "mrail";

interface Session {
  tokens: Uint32Array;
  genStart: number;
  offset: number;
}

/**
 * A map in a few lines, for tests of what lies above it: whole sessions only, and everything by comparison.
 * The package itself is tested with the same handlers in package.test.ts.
 */
export class StandIn {
  readonly sessions: Session[] = [];
  readonly #bytes: Uint8Array;
  readonly #trusted: boolean;
  freed = false;

  constructor(bytes: Uint8Array, trusted: boolean) {
    this.#bytes = bytes;
    this.#trusted = trusted;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let at = 8; at + 5 <= bytes.length; ) {
      const [kind, length] = [view.getUint8(at), view.getUint32(at + 1, true)];
      if (kind === 1) {
        const count = view.getUint32(at + 9, true);
        const tokens = Uint32Array.from({ length: count }, (_, i) => view.getUint32(at + 17 + 4 * i, true));
        this.sessions.push({ tokens, genStart: view.getUint32(at + 13, true), offset: at });
      }
      at += 5 + length;
    }
  }

  free(): void {
    this.freed = true;
  }

  info(): MapInfo {
    const tokens = this.sessions.reduce((sum, session) => sum + session.tokens.length, 0);
    const answerTokens = this.sessions.reduce((sum, session) => sum + session.tokens.length - session.genStart, 0);
    const [byteLength, runs] = [this.#bytes.length, this.sessions.length];
    return {
      byteLength, validLength: byteLength, tail: "none", runs, sessions: runs, tracks: 0, tokens, answerTokens, anchors: 0,
      anchorDeltas: 0, useHashes: 0, uses: 0, kinds: [{ kind: 1, name: "session", records: runs, bytes: byteLength - 8 }], problems: 0, foreignRuns: 0,
    };
  }

  run(run: number): RunInfo | undefined {
    const found = this.sessions[run];
    if (!found) return undefined;
    const { tokens, genStart, offset } = found;
    return { run, kind: "session", foreign: !this.#trusted, contextLength: genStart, answerLength: tokens.length - genStart, offset, source: "", uses: 0 };
  }

  runTokens(run: number): RunTokens | undefined {
    const found = this.sessions[run];
    return found && { tokens: found.tokens.slice(), genStart: found.genStart };
  }

  records(): RecordInfo[] {
    return [];
  }

  findTokens(needle: Uint32Array, start: number): number | undefined {
    const text = `,${needle.join()},`;
    const found = this.sessions.findIndex(({ tokens }, run) => run >= start && `,${tokens.join()},`.includes(text));
    return found < 0 ? undefined : found;
  }

  locate(context: Uint32Array): Located {
    const shared = this.sessions.reduce((best, { tokens }) => {
      let same = 0;
      while (same < context.length && same < tokens.length && tokens[same] === context[same]) same++;
      return Math.max(best, same);
    }, 0);
    return { lcp: shared, shared };
  }

  exactAnswer(context: Uint32Array, _maxNew: number, stop: Uint32Array): Answer | undefined {
    const run = this.sessions.findIndex(({ tokens, genStart }) => genStart === context.length && context.every((id, i) => id === tokens[i]));
    if (run < 0 || !this.#trusted) return undefined;
    const tokens = this.sessions[run]!.tokens.slice(context.length);
    return { tokens, run, end: stop.includes(tokens.at(-1)!) ? "stop" : "run" };
  }

  draftTree(): DraftTree {
    return { tokens: Uint32Array.of(504, 198), parents: Int32Array.of(-1, 0) };
  }
}

/** As the type that the page uses; what is missing is not called by it. */
export function standIn(bytes: Uint8Array, trusted: boolean): MrailMap {
  return new StandIn(bytes, trusted) as unknown as MrailMap;
}
