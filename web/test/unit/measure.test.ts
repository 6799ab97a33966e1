import { describe, expect, it } from "vitest";
import { formatBytes, formatCount, formatShare, formatShort, formatTime } from "../../src/format.ts";
import { measure } from "../../src/worker/measure.ts";

/** A clock that ticks every 0.1 ms, as browsers' do, over work of a known length. */
function world(workMs: number, tick = 0.1): { work: () => void; now: () => number; calls: () => number } {
  let time = 0;
  let calls = 0;
  return {
    work: () => {
      calls++;
      time += workMs;
    },
    now: () => Math.floor(time / tick) * tick,
    calls: () => calls,
  };
}

describe("measuring", () => {
  it.each([0.0004, 0.003, 0.05, 2, 40])("finds %f ms a call with a clock of 0.1 ms", (workMs) => {
    const { work, now } = world(workMs);
    const { milliseconds } = measure(work, now);
    expect(milliseconds / workMs).toBeGreaterThan(0.96);
    expect(milliseconds / workMs).toBeLessThan(1.04);
  });

  it("where a single call shows nothing", () => {
    const { work, now } = world(0.003);
    const start = now();
    work();
    expect(now() - start).toBe(0);
  });

  it("ends, whatever the clock does, and says how many calls it rests on", () => {
    const { work, calls } = world(0.001);
    const measured = measure(work, () => 0, 6, 2);
    expect(measured.milliseconds).toBe(0);
    expect(calls()).toBeLessThan(1 << 24);
    const other = world(1);
    expect(measure(other.work, other.now)).toMatchObject({ calls: 40 });
  });
});

describe("numbers for people", () => {
  it.each([[0, "0"], [-0, "0"], [31_678, "31,678"], [4_294_967_395, "4,294,967,395"]])("%d: %s", (n, text) => {
    expect(formatCount(n)).toBe(text);
  });
  it.each([[31_678, "31,678"], [99_999_999, "99,999,999"], [4_294_967_395, "4.29B"]])("%d in little room: %s", (n, text) => {
    expect(formatShort(n)).toBe(text);
  });
  it.each([[0, "0 B"], [999, "999 B"], [1000, "1.0 KB"], [9949, "9.9 KB"], [130_086, "130 KB"], [999_600, "1.0 MB"], [6e9, "6.0 GB"]])("%d bytes: %s", (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });
  it.each([[0.0004, "400 ns"], [0.0024, "2.4 µs"], [0.031, "31 µs"], [0.85, "850 µs"], [1.24, "1.2 ms"], [2500, "2.5 s"]])("%f ms: %s", (ms, text) => {
    expect(formatTime(ms)).toBe(text);
  });
  it.each([[0, 0, "0 %"], [1, 1000, "< 1 %"], [999, 1000, "> 99 %"], [1000, 1000, "100 %"], [1, 3, "33 %"]])("%d of %d: %s", (part, whole, text) => {
    expect(formatShare(part, whole)).toBe(text);
  });
});
