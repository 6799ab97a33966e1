import { svg } from "./dom.ts";

/** A network with one trunk and its branches: runs share their beginning and part where they differ. Decoration only. */
export function networkPicture(): Element {
  const lines: [className: string, path: string][] = [
    ["c", "M40 150 H150 Q170 150 182 166 L222 224 Q234 240 254 240 H330"],
    ["b", "M40 150 H170 Q190 150 202 134 L226 100 Q238 84 258 84 H400"],
    ["a", "M40 150 H190 Q210 150 230 150 H460"],
    ["d", "M262 150 H270 Q290 150 302 166 L320 190 Q332 206 352 206 H430"],
    ["b", "M258 84 Q278 84 290 68 L304 50 Q316 36 336 36 H440"],
  ];
  const stations: [className: string, x: number, y: number][] = [
    ["a", 40, 150], ["a", 100, 150], ["a", 262, 150], ["a", 340, 150], ["a", 400, 150],
    ["b", 320, 84], ["b", 380, 36], ["c", 280, 240], ["d", 390, 206],
  ];
  const ends: [className: string, x: number, y: number][] = [["a", 460, 150], ["b", 400, 84], ["b", 440, 36], ["c", 330, 240]];
  return svg(
    "svg",
    { viewBox: "20 14 470 250", class: "network", "aria-hidden": "true" },
    ...lines.map(([line, d]) => svg("path", { d, class: `line ${line}` })),
    // This one goes on: its answer was cut.
    svg("path", { d: "M430 206 H480", class: "line d open" }),
    ...stations.map(([line, cx, cy]) => svg("circle", { cx, cy, r: 7, class: `station ${line}` })),
    ...ends.map(([line, x, y]) => svg("rect", { x: x - 8, y: y - 8, width: 16, height: 16, rx: 3, class: `terminus ${line}` })),
  );
}
