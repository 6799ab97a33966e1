import { h, uniqueId } from "./dom.ts";

/**
 * Says whose answers these are. It has no effect by itself: `change` opens the map again under the new declaration and
 * the page draws what came of it.
 */
export function trustSwitch(trusted: boolean, change: (trusted: boolean) => void): HTMLElement {
  const help = uniqueId("trust");
  const box = h("input", { type: "checkbox", checked: trusted, className: "switch", attrs: { role: "switch", "aria-describedby": help } });
  box.onchange = () => change(box.checked);
  return h(
    "div",
    { className: "trust" },
    h("label", {}, box, h("span", {}, "Answers from this map may be used as the model’s own")),
    h(
      "p",
      { id: help, className: "quiet" },
      trusted ? "Trusted: known prompts are answered." : "Foreign: it may draft, but it does not answer. Switch on only if you know who wrote it.",
    ),
  );
}
