import { h, replace, svg } from "./dom.ts";

type Theme = "system" | "light" | "dark";

const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const KEY = "mrail-theme";

/** Storage can be switched off, and then reading it throws. */
function stored(): Theme {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "system";
  } catch {
    return "system";
  }
}

function store(theme: Theme): void {
  try {
    if (theme === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
  } catch {
    // Then it holds for this visit only.
  }
}

function apply(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

/** Steps through system, light and dark. */
export function themeButton(): HTMLElement {
  let theme = stored();
  const button = h("button", { type: "button", className: "icon-button" });
  const show = (): void => {
    apply(theme);
    const label = `Theme: ${theme === "system" ? "as the system" : theme}`;
    button.setAttribute("aria-label", `${label}. Change`);
    button.title = label;
    replace(button, icon(theme));
  };
  button.onclick = () => {
    theme = NEXT[theme];
    store(theme);
    show();
  };
  show();
  return button;
}

function icon(theme: Theme): SVGElement {
  const shapes = {
    system: [svg("circle", { cx: 12, cy: 12, r: 8 }), svg("path", { d: "M12 4a8 8 0 0 1 0 16z", fill: "currentColor" })],
    light: [svg("circle", { cx: 12, cy: 12, r: 4 }), svg("path", { d: "M12 3v2m0 14v2M3 12h2m14 0h2M5.6 5.6 7 7m10 10 1.4 1.4m0-12.8L17 7M7 17l-1.4 1.4" })],
    dark: [svg("path", { d: "M20 14.5A8.5 8.5 0 1 1 9.5 4a7 7 0 0 0 10.5 10.5z" })],
  };
  return svg("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" }, ...shapes[theme]);
}
