/** How long one call takes, and how that is known. */
export interface Measured {
  milliseconds: number;
  /** Calls that the figure rests on. */
  calls: number;
}

/**
 * Time of one call, from many.
 *
 * A page's clock ticks in steps of up to 0.1 ms (that is deliberate: against timing attacks), which is more than a call
 * takes. So calls are timed in batches that last long against a tick, and the median batch counts.
 */
export function measure(work: () => void, now: () => number = () => performance.now(), batchMs = 6, batches = 5): Measured {
  let size = 1;
  let took = batch(work, size, now);
  while (took < batchMs && size < 1 << 22) {
    size *= 2;
    took = batch(work, size, now);
  }
  const times = [took];
  while (times.length < batches) times.push(batch(work, size, now));
  times.sort((a, b) => a - b);
  return { milliseconds: times[times.length >> 1]! / size, calls: size * batches };
}

function batch(work: () => void, size: number, now: () => number): number {
  const start = now();
  for (let i = 0; i < size; i++) work();
  return now() - start;
}
