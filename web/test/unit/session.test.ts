import { describe, expect, it } from "vitest";
import { call, file, opened, sessionTests } from "./session.ts";
import { standIn, StandIn } from "./stand-in.ts";

describe("a session over a stand-in", () => sessionTests(standIn));

describe("a session", () => {
  it("frees the map before when another is open", async () => {
    const made: StandIn[] = [];
    const session = await opened((bytes, trusted) => {
      const map = standIn(bytes, trusted);
      made.push(map as unknown as StandIn);
      return map;
    }, "coding.mrail");
    expect(made.map(({ freed }) => freed)).toEqual([false]);
    await session.open(call(), file("general.mrail"), true);
    expect(made.map(({ freed }) => freed)).toEqual([true, false]);
  });
});
