import type { MapInfo } from "mrail";
import { counted, formatBytes, formatCount, formatShare, formatShort } from "../format.ts";
import type { Opened } from "../protocol.ts";
import { h, type Child } from "./dom.ts";
import { notice } from "./notice.ts";
import { trustSwitch } from "./trust-switch.ts";

/** What the file is and holds, at a glance. */
export function overview(opened: Opened, declare: (trusted: boolean) => void): HTMLElement {
  const { name, trusted, info, tokenizer } = opened;
  return h(
    "section",
    { className: "overview card", attrs: { "aria-labelledby": "map-name" } },
    h("h1", { id: "map-name", tabIndex: -1 }, name),
    h("p", { className: "validity" }, validity(info)),
    trustSwitch(trusted, declare),
    h(
      "dl",
      { className: "stats" },
      stat("Runs", info.runs, info.tracks === 0 ? "all sessions" : `${counted(info.sessions, "session")}, ${counted(info.tracks, "track")}`),
      stat("Tokens", info.tokens, tokenSplit(info)),
      stat("Anchors", info.anchors + info.anchorDeltas, info.anchors + info.anchorDeltas > 0 ? `${formatCount(info.anchors)} whole, ${formatCount(info.anchorDeltas)} as changes` : "no saved states"),
      stat("Uses", info.uses, info.useHashes > 0 ? `of ${counted(info.useHashes, "context")}` : "not counted"),
    ),
    sizes(info),
    h("p", { className: "quiet" }, `Text by the tokenizer of ${tokenizer}.`),
  );
}

function stat(label: string, value: number, more: Child): HTMLElement {
  return h("div", {}, h("dt", {}, label), h("dd", {}, h("span", { className: "value", title: formatCount(value) }, formatShort(value)), h("span", { className: "more" }, more)));
}

function tokenSplit({ tokens, answerTokens }: MapInfo): Child {
  if (tokens === 0) return "none";
  const bar = h("span", { className: "bar thin", attrs: { "aria-hidden": "true" } }, part("prompt", tokens - answerTokens, tokens), part("answer", answerTokens, tokens));
  return h("span", {}, bar, h("span", {}, `${formatCount(tokens - answerTokens)} in prompts, ${formatCount(answerTokens)} answered`));
}

/** A part of a bar. Zero has no width; anything else can be seen. */
function part(className: string, value: number, whole: number): HTMLElement {
  const element = h("span", { className: `part ${className}` });
  element.style.flexGrow = String(value / whole);
  if (value === 0) element.hidden = true;
  return element;
}

interface Size {
  className: string;
  label: string;
  records: number | undefined;
  bytes: number;
}

function sizes(info: MapInfo): HTMLElement {
  const rows: Size[] = info.kinds
    .filter(({ records }) => records > 0)
    .map(({ kind, name, records, bytes }) => ({ className: name === "unknown" ? "unknown" : `kind-${kind}`, label: name === "unknown" ? `unknown (${kind})` : name, records, bytes }));
  const behind = info.byteLength - info.validLength;
  if (behind > 0) rows.push({ className: "tail", label: info.tail === "torn" ? "torn tail" : "not readable", records: undefined, bytes: behind });
  return h(
    "details",
    // On a phone the way to the map itself is shorter without the table.
    { className: "sizes", open: matchMedia("(min-width: 900px)").matches },
    h(
      "summary",
      {},
      h("span", { id: "sizes" }, "Size by kind"),
      h("span", { className: "bar", attrs: { "aria-hidden": "true" } }, ...rows.map(({ className, bytes }) => part(className, bytes, info.byteLength))),
    ),
    h(
      "table",
      { attrs: { "aria-labelledby": "sizes" } },
      h("thead", {}, h("tr", {}, th("Kind"), th("Records"), th("Bytes"), th("Share"))),
      h("tbody", {}, ...rows.map((row) => line(row, info.byteLength))),
      h("tfoot", {}, h("tr", {}, h("th", { scope: "row" }, "file"), h("td", {}, ""), h("td", {}, formatBytes(info.byteLength)), h("td", {}, ""))),
    ),
  );
}

function th(text: string): HTMLElement {
  return h("th", { scope: "col" }, text);
}

function line({ className, label, records, bytes }: Size, whole: number): HTMLElement {
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, h("span", { className: `swatch ${className}`, attrs: { "aria-hidden": "true" } }), label),
    h("td", {}, records === undefined ? "" : formatCount(records)),
    h("td", { title: `${formatCount(bytes)} bytes` }, formatBytes(bytes)),
    h("td", {}, formatShare(bytes, whole)),
  );
}

function validity({ tail, problems, byteLength }: MapInfo): HTMLElement {
  const size = formatBytes(byteLength);
  if (tail === "damaged") return h("span", { className: "badge bad" }, `${size}, damaged`);
  if (tail === "torn") return h("span", { className: "badge warn" }, `${size}, torn end`);
  if (problems > 0) return h("span", { className: "badge warn" }, `${size}, ${counted(problems, "record")} skipped`);
  return h("span", { className: "badge good" }, `${size}, every record read`);
}

/** What is wrong with the file, in words; nothing when nothing is. */
export function damageNotices({ info, problems }: Opened): HTMLElement[] {
  const found: HTMLElement[] = [];
  const behind = info.byteLength - info.validLength;
  const place = `the last ${counted(behind, "byte")}, from byte ${formatCount(info.validLength)} on`;
  if (info.tail === "torn") {
    found.push(
      notice("warn", "The file ends inside a record.", [
        `Its end was not written or not copied: ${place}. Everything before is whole and shown here; the next append cuts the torn end off by itself.`,
      ]),
    );
  }
  if (info.tail === "damaged") {
    found.push(
      notice("bad", "A part of the file is damaged.", [
        `Reading stops before ${place}. What comes before is shown here. There may be good records behind the damage: \`mrail repair FILE\` looks for them and keeps a backup.`,
      ]),
    );
  }
  if (info.problems > 0) {
    found.push(
      notice("warn", `${counted(info.problems, "record")} could not be read and ${info.problems === 1 ? "is" : "are"} left out.`, [
        h("ul", {}, ...problems.map(({ offset, name, problem }) => h("li", {}, `byte ${formatCount(offset)}, ${name}: ${problem}`))),
        problems.length < info.problems && `The first ${problems.length} are listed.`,
      ]),
    );
  }
  return found;
}
