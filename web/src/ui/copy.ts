import { h } from "./dom.ts";

/** Copies a text and says whether it did. */
export function copyButton(label: string, text: () => string): HTMLElement {
  const button = h("button", { type: "button", className: "button" }, label);
  button.onclick = async () => {
    const copied = await copy(text());
    button.textContent = copied ? "Copied" : "Could not copy";
    setTimeout(() => (button.textContent = label), 1600);
  };
  return button;
}

/** The clipboard is there for secure pages only; the old way works for the others. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = h("textarea", { value: text, className: "visually-hidden" });
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
