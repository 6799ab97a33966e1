const NUMBER = new Intl.NumberFormat("en");

/** 31,678; never "-0", which an empty sum of doubles can be. */
export function formatCount(n: number): string {
  return NUMBER.format(n === 0 ? 0 : n);
}

const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

/** A number that has room for ten characters: 31,678; 4.29B. */
export function formatShort(n: number): string {
  const whole = formatCount(n);
  return whole.length <= 10 ? whole : SHORT.format(n);
}

/** "1 run", "198 runs" */
export function counted(n: number, one: string, many = `${one}s`): string {
  return `${formatCount(n)} ${n === 1 ? one : many}`;
}

/** 130 KB: decimal units, three digits at most. */
export function formatBytes(bytes: number): string {
  const units = ["B", "KB", "MB", "GB"];
  let unit = 0;
  let value = bytes;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit > 0 && value < 9.95 ? value.toFixed(1) : NUMBER.format(Math.round(value))} ${units[unit]}`;
}

/** A short time with two significant digits: 2.4 µs, 31 µs, 0.85 ms. */
export function formatTime(milliseconds: number): string {
  const [value, unit] =
    milliseconds < 0.001 ? [milliseconds * 1e6, "ns"] : milliseconds < 1 ? [milliseconds * 1e3, "µs"] : milliseconds < 1000 ? [milliseconds, "ms"] : [milliseconds / 1000, "s"];
  return `${value < 9.95 ? value.toFixed(1) : NUMBER.format(Math.round(value))} ${unit}`;
}

/** Part of a whole in per cent, never 0 % or 100 % where it is not exactly that. */
export function formatShare(part: number, whole: number): string {
  if (whole === 0) return "0 %";
  const percent = (100 * part) / whole;
  if (part > 0 && percent < 1) return "< 1 %";
  if (part < whole && percent > 99) return "> 99 %";
  return `${Math.round(percent)} %`;
}
