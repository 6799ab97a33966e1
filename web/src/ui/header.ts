import { h, svg } from "./dom.ts";
import { themeButton } from "./theme.ts";

/** The bar on top: the way home, a map from this computer, the theme. */
export function header({ home, choose }: { home(): void; choose(): void }): HTMLElement {
  return bar(h("button", { type: "button", className: "button", onclick: choose }, "Open a map …"), home);
}

/** A bar with one thing to do; the brand is a link to the first page, or goes home without loading it again. */
export function bar(action: HTMLElement, home?: () => void): HTMLElement {
  const mark = svg(
    "svg",
    { viewBox: "0 0 32 32", class: "mark", "aria-hidden": "true" },
    svg("path", { d: "M8 26V6M8 17c0-6 4-6 8-6s8 0 8 6v3" }),
    svg("circle", { cx: 24, cy: 23, r: 3.5 }),
  );
  const brand = h("a", { href: home ? location.pathname : "./", className: "brand", attrs: { "aria-label": "mrail, start page" } }, mark, "mrail");
  if (home) brand.onclick = (event) => (event.preventDefault(), home());
  return h("header", { className: "top" }, brand, h("div", { className: "top-actions" }, action, themeButton()));
}
