import { h, replace } from "../ui/dom.ts";
import type { Given } from "./client.ts";
import { filePicker } from "./file-picker.ts";

export interface MapActions {
  attach(given: Given, trusted: boolean): void;
  detach(): void;
  save(): void;
}

/** The maps beside the model: the own one, which answers and grows, and others that draft. */
export class MapPanel {
  readonly element: HTMLFieldSetElement;
  readonly #list = h("ul", { className: "map-list" });
  readonly #detach: HTMLButtonElement;

  constructor({ attach, detach, save }: MapActions) {
    const trust = h("input", { type: "checkbox", className: "switch", attrs: { role: "switch", "aria-describedby": "map-trust" } });
    this.#detach = h("button", { type: "button", className: "button", hidden: true, onclick: detach }, "Leave all maps");
    this.element = h(
      "fieldset",
      { className: "card panel", disabled: true },
      h("legend", { className: "visually-hidden" }, "Map"),
      h("h2", { attrs: { "aria-hidden": "true" } }, "Map"),
      h("p", { className: "quiet" }, "Answers are kept in a map, and known prompts are answered from it without the model."),
      this.#list,
      filePicker({ id: "map-address", accept: ".mrail", choose: "Attach a map …", placeholder: "maps/coding.mrail", take: (given) => attach(given, trust.checked) }),
      h("label", { className: "switch-line" }, trust, h("span", {}, "Its answers are this model’s own")),
      h("p", { id: "map-trust", className: "quiet" }, "Trusted, it becomes the model’s own map and answers. Otherwise it only drafts, and the model checks every token."),
      h("div", { className: "actions" }, h("button", { type: "button", className: "button", onclick: save }, "Save the own map"), this.#detach),
    );
    this.detached();
  }

  enable(enabled: boolean): void {
    this.element.disabled = !enabled;
  }

  attached(name: string, trusted: boolean): void {
    if (trusted) this.#list.querySelector("[data-own]")?.remove();
    const badge = h("span", { className: trusted ? "badge good" : "badge warn" }, trusted ? "own" : "drafts only");
    const item = h("li", trusted ? { data: { own: "" } } : {}, badge, h("span", { className: "map-file" }, name.split("/").at(-1) ?? name));
    if (trusted) this.#list.prepend(item);
    else this.#list.append(item);
    this.#detach.hidden = false;
  }

  detached(): void {
    replace(this.#list, h("li", { data: { own: "" } }, h("span", { className: "badge good" }, "own"), h("span", { className: "map-file" }, "a new map, in memory")));
    this.#detach.hidden = true;
  }
}
