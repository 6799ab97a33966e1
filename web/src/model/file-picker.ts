import { h } from "../ui/dom.ts";
import type { Given } from "./client.ts";

export interface PickerOptions {
  id: string;
  accept: string;
  choose: string;
  placeholder: string;
  take(given: Given): void;
}

/** A file of this computer, or an address. */
export function filePicker({ id, accept, choose, placeholder, take }: PickerOptions): HTMLElement {
  const picker = h("input", { type: "file", accept, hidden: true });
  picker.onchange = () => {
    const file = picker.files?.[0];
    // The same file again must be a change too.
    picker.value = "";
    if (file) take(file);
  };
  const url = h("input", { type: "text", inputMode: "url", placeholder, spellcheck: false, autocomplete: "off", id });
  const form = h(
    "form",
    { className: "picker" },
    picker,
    h("button", { type: "button", className: "button", onclick: () => picker.click() }, choose),
    h("label", { htmlFor: id, className: "quiet" }, "or from an address"),
    h("div", { className: "picker-line" }, url, h("button", { type: "submit", className: "button" }, "Load")),
  );
  form.onsubmit = (event) => {
    event.preventDefault();
    if (url.value.trim() === "") url.focus();
    else take(url.value.trim());
  };
  return form;
}
