import { h } from "./dom.ts";

export interface Tab {
  id: string;
  label: string;
  panel: HTMLElement;
}

/** Tabs as the platform's guidelines want them: one tab stop, arrows between tabs. */
export class Tabs {
  readonly element: HTMLElement;
  readonly #tabs: Tab[];
  readonly #buttons: HTMLButtonElement[];

  constructor(tabs: Tab[], chosen: (id: string) => void) {
    this.#tabs = tabs;
    this.#buttons = tabs.map(({ id, label, panel }) => {
      panel.id = `panel-${id}`;
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-labelledby", `tab-${id}`);
      return h("button", { type: "button", id: `tab-${id}`, onclick: () => chosen(id), attrs: { role: "tab", "aria-controls": panel.id } }, label);
    });
    const bar = h("div", { className: "tab-bar", attrs: { role: "tablist" } }, ...this.#buttons);
    bar.onkeydown = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      const at = this.#buttons.findIndex((button) => button === document.activeElement);
      const to = (at + step + tabs.length) % tabs.length;
      this.#buttons[to]!.focus();
      chosen(tabs[to]!.id);
    };
    this.element = h("div", { className: "tabs" }, bar, ...tabs.map(({ panel }) => panel));
  }

  show(id: string): void {
    this.#tabs.forEach((tab, i) => {
      const on = tab.id === id;
      tab.panel.hidden = !on;
      this.#buttons[i]!.setAttribute("aria-selected", String(on));
      this.#buttons[i]!.tabIndex = on ? 0 : -1;
    });
  }
}
