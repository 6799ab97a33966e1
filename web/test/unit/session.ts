import type { MrailMap } from "mrail";
import { describe, expect, it } from "vitest";
import { FailureError } from "../../src/failure.ts";
import type { Asked, Progress } from "../../src/protocol.ts";
import { textOf } from "../../src/text/stream.ts";
import { handlers } from "../../src/worker/handlers.ts";
import type { Call, Handlers } from "../../src/worker/serve.ts";
import { data, rows, tokenizer } from "./data.ts";

type Open = (bytes: Uint8Array, trusted: boolean) => MrailMap;

const coding = rows("coding_runs.jsonl");
const heldout = rows("heldout.jsonl").filter(({ prompt }) => !coding.some((row) => row.prompt.join() === prompt.join()));

export const call = (progress: (progress: Progress) => void = () => {}, signal = new AbortController().signal): Call => ({ signal, progress });
export const file = (path: string): { name: string; file: Blob } => ({ name: path, file: new Blob([data(`maps/${path}`)]) });

/** Handlers over a map that is open already. */
export async function opened(open: Open, path: string, trusted = true): Promise<Handlers> {
  const session = handlers(async () => ({ open, tokenizer: tokenizer() }));
  await session.open(call(), file(path), trusted);
  return session;
}

/** What the worker does with a map, the same for the stand-in and for the package itself. */
export function sessionTests(open: Open): void {
  const ask = async (session: Handlers, text: string): Promise<Asked> => session.ask(call(), [{ role: "user", content: text }]);

  describe("asking", () => {
    it("answers every prompt of the map exactly, and says whether the answer is whole", async () => {
      const session = await opened(open, "coding.mrail");
      // Each is asked many times for its time: some are enough here.
      for (const { id, request, answer, answer_text, stopped } of coding.filter((row, i) => !row.id.startsWith("conv") && i % 15 === 0)) {
        const asked = await ask(session, request);
        expect(asked.answer?.text, id).toBe(answer_text.replace(/<\|im_end\|>$/, ""));
        expect(asked.answer?.tokens, id).toBe(answer.length);
        expect(asked.answer?.end, id).toBe(stopped ? "stop" : "run");
        expect(asked.answer!.time.milliseconds).toBeGreaterThan(0);
        expect(asked.answer!.time.calls).toBeGreaterThanOrEqual(5);
      }
    }, 60_000);

    it("does not answer what it does not know, and shows how far it knows it", async () => {
      const session = await opened(open, "coding.mrail");
      const unknown = heldout.slice(0, 6);
      expect(unknown.length).toBe(6);
      for (const { id, request, prompt } of unknown) {
        const asked = await ask(session, request);
        expect(asked.answer, id).toBeUndefined();
        expect(asked.refused).toBe("unknown");
        const shared = Math.max(...coding.map((row) => [...row.prompt, ...row.answer].findIndex((token, i) => token !== prompt[i])));
        expect(asked.shared, id).toBe(shared);
        const pieces = asked.prompt.flatMap((turn) => turn.pieces);
        expect(pieces.some(({ after }) => after) && pieces.some(({ after }) => !after)).toBe(true);
        expect(asked.draft.length).toBeGreaterThan(0);
      }
    }, 60_000);

    it("one letter more or less is another prompt", async () => {
      const session = await opened(open, "coding.mrail");
      const { request } = coding[0]!;
      for (const changed of [`${request} `, ` ${request}`, request.slice(0, -1), request.toLowerCase()]) {
        expect((await ask(session, changed)).answer, changed).toBeUndefined();
      }
    });

    it("a foreign map drafts and does not answer, until it is declared trusted", async () => {
      const session = await opened(open, "coding.mrail", false);
      const { request } = coding[0]!;
      expect(await ask(session, request)).toMatchObject({ refused: "foreign" });
      expect((await ask(session, request)).answer).toBeUndefined();
      expect((await session.declare(call(), true)).trusted).toBe(true);
      expect((await ask(session, request)).answer).toBeDefined();
      expect((await session.declare(call(), false)).trusted).toBe(false);
      expect((await ask(session, request)).answer).toBeUndefined();
    });
  });

  describe("suggestions", () => {
    it("are prompts that the map does answer", async () => {
      const session = await opened(open, "coding.mrail");
      const found = await session.suggest(call(), 6);
      expect(found.length).toBeGreaterThanOrEqual(4);
      for (const { messages, run } of found) expect((await session.ask(call(), messages)).answer?.run).toBe(run);
    });

    it("there are none in a map without runs", async () => {
      const session = await opened(open, "empty.mrail");
      expect(await session.suggest(call(), 6)).toEqual([]);
    });
  });

  describe("runs", () => {
    it("have what was asked as their title, and say how they end", async () => {
      const session = await opened(open, "coding.mrail");
      const found = await session.rows(call(), Uint32Array.of(0, 1, 197));
      const expected = [0, 1, 197].map((i) => coding[i]!);
      expect(found.map(({ title }) => title)).toEqual(expected.map(({ request }) => request.replace(/\s+/g, " ").slice(0, 160)));
      expect(found.map(({ ending }) => ending)).toEqual(expected.map(({ stopped }) => (stopped ? "stop" : "cut")));
    });

    it("are shown whole: context and answer apart, to the letter", async () => {
      const session = await opened(open, "coding.mrail");
      const view = await session.run(call(), 0);
      const { prompt, answer, request } = coding[0]!;
      expect([...view.tokens!]).toEqual([...prompt, ...answer]);
      expect(view.turns.map(({ role }) => role)).toEqual(["system", "user", "assistant"]);
      expect(view.messages).toEqual([{ role: "user", content: request }]);
      const said = view.turns.flatMap(({ pieces }) => pieces.filter(({ after, kind }) => after && kind === "text"));
      expect(said.map(({ text }) => text).join("")).toBe(textOf(answer, tokenizer().vocabulary));
    });

    it("of a conversation can be asked again with all that was said", async () => {
      const session = await opened(open, "coding.mrail");
      const run = coding.findIndex(({ id }) => id === "conv3.2");
      const { messages } = await session.run(call(), run);
      expect(messages!.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user", "assistant", "user"]);
      expect((await session.ask(call(), messages!)).answer?.run).toBe(run);
    });

    it("that are not there are a failure", async () => {
      const session = await opened(open, "coding.mrail");
      await expect((async () => session.run(call(), 198))()).rejects.toMatchObject({ failure: { kind: "no-run" } });
    });
  });

  describe("searching", () => {
    const find = async (query: string): Promise<number[]> => {
      const session = await opened(open, "coding.mrail");
      const found: number[] = [];
      const end = await session.search(call((progress) => found.push(...(progress.found ?? []))), query);
      expect(end).toEqual({ searched: 198, found: found.length });
      return found;
    };
    const containing = (text: string): number[] =>
      coding.flatMap(({ prompt, answer }, i) => {
        const words = textOf([...prompt, ...answer], tokenizer().vocabulary, { specials: true }).toLowerCase().split(/<\|[a-z_]+\|>/);
        return words.some((part) => part.includes(text)) ? [i] : [];
      });

    it.each(["palindrome", "PALINDROME", "  reverses a string ", "def ", "é"])("finds the runs that contain %j, in prompts and answers", async (query) => {
      expect(await find(query)).toEqual(containing(query.trim().toLowerCase()));
    });

    it("finds something, and does not find everything", () => {
      expect(containing("palindrome").length).toBeGreaterThan(3);
      expect(containing("palindrome").length).toBeLessThan(100);
    });

    it("does not find the names of control tokens, which nobody wrote", async () => {
      expect(await find("im_end")).toEqual([]);
      // Nor anything across one.
      expect(await find("Hugging Face")).not.toEqual([]);
      expect(await find("Hugging Face\nuser")).toEqual([]);
    });

    it("finds tokens", async () => {
      const { answer } = coding[0]!;
      expect(await find(`ids: ${answer.slice(2, 9).join(" ")}`)).toContain(0);
      expect(await find("ids: 49151, 49151, 49151")).toEqual([]);
    });

    it("says when ids are none", async () => {
      await expect(find("ids: 12 abc")).rejects.toMatchObject({ failure: { kind: "invalid-argument" } });
      await expect(find("ids:")).rejects.toBeInstanceOf(FailureError);
    });

    it("ends soon after nobody waits any more", async () => {
      const session = await opened(open, "coding.mrail");
      const abort = new AbortController();
      const search = session.search(call(() => abort.abort(), abort.signal), "x");
      await expect(search).rejects.toMatchObject({ name: "AbortError" });
    });
  });

  describe("opening", () => {
    it("a file that is no map leaves the map before it open", async () => {
      const session = await opened(open, "coding.mrail");
      const page = { name: "page.mrail", file: new Blob(["<!doctype html><html></html>"]) };
      await expect((async () => session.open(call(), page, true))()).rejects.toMatchObject({ failure: { kind: "not-a-map" } });
      expect((await session.rows(call(), Uint32Array.of(0))).length).toBe(1);
    });

    it("before any map is open, calls say so", async () => {
      const session = handlers(async () => ({ open, tokenizer: tokenizer() }));
      await expect((async () => session.run(call(), 0))()).rejects.toMatchObject({ failure: { kind: "no-map" } });
    });

    it("asks a file of 6 GB for its first bytes only, and says the numbers", async () => {
      const asked: [number, number][] = [];
      const head = data("maps/coding.mrail").slice(0, 512);
      const huge = {
        size: 6e9,
        slice: (start: number, end: number) => (asked.push([start, end]), new Blob([head])),
        arrayBuffer: () => expect.unreachable("read whole"),
      } as unknown as Blob;
      const session = handlers(async () => ({ open, tokenizer: tokenizer() }));
      const failure = await Promise.resolve(session.open(call(), { name: "huge.mrail", file: huge }, true)).catch((thrown: FailureError) => thrown.failure);
      expect(failure).toMatchObject({ kind: "too-large", message: "huge.mrail has 6.0 GB; a page can hold maps of up to 1.5 GB." });
      expect(asked).toEqual([[0, 512]]);
    });

    it("a part that could not be loaded reaches whoever asks", async () => {
      const session = handlers(() => Promise.reject(new FailureError({ kind: "setup", message: "no wasm" })));
      await expect((async () => session.open(call(), file("coding.mrail"), true))()).rejects.toMatchObject({ failure: { kind: "setup" } });
    });
  });
}
