import { describe, expect, it } from "vitest";
import { canvasHeight, MAX_HEIGHT, moveBy, reveal, visible, type Geometry } from "../../src/ui/virtual.ts";

const list = (count: number, rowHeight = 78, viewport = 600): Geometry => ({ count, rowHeight, viewport });
const bottom = (geometry: Geometry): number => canvasHeight(geometry) - geometry.viewport;

/** Whether a row lies whole inside the window, where `visible` puts it. */
function shows(geometry: Geometry, scrollTop: number, row: number): boolean {
  const { first, end, top } = visible(geometry, scrollTop);
  const y = top + (row - first) * geometry.rowHeight;
  // Far down a canvas of millions of pixels, sums of fractions are off by a hair.
  return row >= first && row < end && y >= scrollTop - 0.01 && y + geometry.rowHeight <= scrollTop + geometry.viewport + 0.01;
}

describe.each([1, 7, 8, 198, 5000, 1_000_000, 50_000_000])("a list of %d runs", (count) => {
  const geometry = list(count);

  it("draws few rows on a canvas that browsers can hold", () => {
    expect(canvasHeight(geometry)).toBeLessThanOrEqual(MAX_HEIGHT);
    for (const share of [0, 0.1, 0.5, 0.999, 1]) {
      const { first, end } = visible(geometry, share * Math.max(0, bottom(geometry)));
      expect(end - first).toBeLessThanOrEqual(22);
      expect(first).toBeGreaterThanOrEqual(0);
      expect(end).toBeLessThanOrEqual(count);
    }
  });

  it("shows the first row at the top and the last at the bottom", () => {
    expect(shows(geometry, 0, 0)).toBe(true);
    expect(shows(geometry, Math.max(0, bottom(geometry)), count - 1)).toBe(true);
  });

  it("reveals any row from anywhere, and stays where it shows already", () => {
    for (const row of [0, 1, count >> 1, (count >> 1) + 1, count - 2, count - 1].filter((row) => row >= 0 && row < count)) {
      for (const from of [0, Math.max(0, bottom(geometry)) / 3, Math.max(0, bottom(geometry))]) {
        const to = reveal(geometry, from, row);
        expect(shows(geometry, to, row), `row ${row} from ${from}`).toBe(true);
        expect(reveal(geometry, to, row)).toBeCloseTo(to, 3);
      }
    }
  });
});

it("leaves no gap: the window is covered wherever the bar stands", () => {
  for (const geometry of [list(198), list(1_000_000)]) {
    for (let i = 0; i <= 997; i++) {
      const scrollTop = (bottom(geometry) * i) / 997;
      const { first, end, top } = visible(geometry, scrollTop);
      expect(top).toBeLessThanOrEqual(scrollTop + 0.01);
      expect(top + (end - first) * geometry.rowHeight).toBeGreaterThanOrEqual(scrollTop + geometry.viewport - 0.01);
    }
  }
});

it("has nothing to draw for no runs", () => {
  expect(visible(list(0), 0)).toEqual({ first: 0, end: 0, top: 0 });
});

describe("keys", () => {
  const geometry = list(100);
  it.each([
    ["ArrowDown", 5, 6], ["ArrowUp", 5, 4], ["ArrowUp", 0, 0], ["ArrowDown", 99, 99], ["Home", 50, 0], ["End", 50, 99],
    ["PageDown", 0, 6], ["PageUp", 3, 0], ["PageDown", 98, 99], ["ArrowDown", -1, 0], ["End", -1, 99], ["Home", -1, 0],
  ])("%s from %d goes to %d", (key, from, to) => {
    expect(moveBy(key, from, geometry)).toBe(to);
  });

  it("others do not move, and nothing moves in an empty list", () => {
    expect(moveBy("a", 5, geometry)).toBeUndefined();
    expect(moveBy("ArrowDown", -1, list(0))).toBeUndefined();
  });
});
