import { SAMPLES } from "../samples.ts";
import { h } from "./dom.ts";
import { networkPicture } from "./network-picture.ts";

export interface LandingActions {
  sample(file: string): void;
  choose(): void;
  address(url: string): void;
}

/** The page before any map is open: what this is, and every way in. */
export function landing({ sample, choose, address }: LandingActions): HTMLElement {
  const url = h("input", { type: "text", inputMode: "url", placeholder: "https://…/answers.mrail", spellcheck: false, autocomplete: "off", id: "address" });
  const form = h("form", { className: "address" }, h("label", { htmlFor: "address" }, "From an address"), h("div", {}, url, h("button", { type: "submit", className: "button" }, "Load")));
  form.onsubmit = (event) => {
    event.preventDefault();
    if (url.value.trim() === "") url.focus();
    else address(url.value.trim());
  };
  return h(
    "main",
    { className: "landing" },
    h(
      "div",
      { className: "hero" },
      h(
        "div",
        {},
        h("h1", {}, "Ask a map of what the model already said."),
        h("p", { className: "lead" }, "A .mrail map holds prompts and the exact answers a language model gave to them. What the map knows is answered in microseconds, without the model. What it does not know, it says so."),
        h(
          "div",
          { className: "actions" },
          h("button", { type: "button", className: "button primary large", onclick: () => sample(SAMPLES[0]!.file) }, "Open the sample map"),
          h("button", { type: "button", className: "button large", onclick: choose }, "Open a map …"),
        ),
        h("p", { className: "quiet" }, "Or drop a .mrail file anywhere on this page. It stays on this computer."),
        h("p", { className: "quiet" }, h("a", { href: "./model.html", className: "link" }, "Run a model beside a map"), ": known prompts from the map, the rest decoded here, on the GPU or without one."),
      ),
      networkPicture(),
    ),
    h(
      "div",
      { className: "ways" },
      h(
        "section",
        { attrs: { "aria-labelledby": "samples" } },
        h("h2", { id: "samples" }, "Maps of SmolLM2-135M"),
        h(
          "ul",
          { className: "samples" },
          ...SAMPLES.map(({ file, title, about }) =>
            h("li", {}, h("button", { type: "button", className: "sample", onclick: () => sample(file) }, h("strong", {}, title), h("span", { className: "quiet" }, about))),
          ),
        ),
      ),
      form,
    ),
  );
}
