/**
 * Where the rows of a long list are. Pure arithmetic: the list draws what `visible` says.
 *
 * Browsers give up on elements of some ten million pixels. A list that would be taller is drawn on a canvas of
 * `MAX_HEIGHT`, on which a step of the scroll bar moves several rows; the first and the last row are still where the
 * bar's ends are.
 */
export const MAX_HEIGHT = 8_000_000;

export interface Geometry {
  count: number;
  rowHeight: number;
  /** Height of the window onto the list. */
  viewport: number;
}

/** Height of the element that makes the scroll bar. */
export function canvasHeight({ count, rowHeight }: Geometry): number {
  return Math.min(count * rowHeight, MAX_HEIGHT);
}

/** How far the list's own pixels move for one pixel of the scroll bar. */
function scale(geometry: Geometry): number {
  const room = canvasHeight(geometry) - geometry.viewport;
  return room <= 0 ? 1 : (geometry.count * geometry.rowHeight - geometry.viewport) / room;
}

export interface Visible {
  /** First row to draw, and the one after the last. */
  first: number;
  end: number;
  /** Where the first row's upper edge is on the canvas. */
  top: number;
}

/** Rows to draw at a position of the scroll bar, with `overscan` more on each side. */
export function visible(geometry: Geometry, scrollTop: number, overscan = 6): Visible {
  const { count, rowHeight, viewport } = geometry;
  const offset = Math.max(0, scrollTop) * scale(geometry);
  const at = Math.min(Math.floor(offset / rowHeight), Math.max(0, count - 1));
  const first = Math.max(0, at - overscan);
  const end = Math.min(count, at + Math.ceil(viewport / rowHeight) + 1 + overscan);
  return { first, end, top: scrollTop - offset + first * rowHeight };
}

/** The nearest position of the scroll bar at which the whole row shows. */
export function reveal(geometry: Geometry, scrollTop: number, row: number): number {
  const { rowHeight, viewport } = geometry;
  const factor = scale(geometry);
  const offset = scrollTop * factor;
  const top = row * rowHeight;
  if (top < offset) return top / factor;
  if (top + rowHeight > offset + viewport) return (top + rowHeight - viewport) / factor;
  return scrollTop;
}

/** The row that a key moves to; undefined when the key does not move. */
export function moveBy(key: string, from: number, { count, rowHeight, viewport }: Geometry): number | undefined {
  if (count === 0) return undefined;
  const page = Math.max(1, Math.floor(viewport / rowHeight) - 1);
  const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -count, End: count };
  const step = steps[key];
  if (step === undefined) return undefined;
  if (from < 0) return step < 0 && key !== "Home" ? count - 1 : key === "End" ? count - 1 : 0;
  return Math.min(count - 1, Math.max(0, from + step));
}
