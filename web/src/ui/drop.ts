import { h } from "./dom.ts";

/** Lets a file be dropped anywhere on the page, and shows that it can be while one hangs over it. */
export function acceptDrops(take: (file: File) => void): void {
  const veil = h("div", { className: "veil", hidden: true, attrs: { "aria-hidden": "true" } }, h("p", {}, "Drop the map to open it"));
  document.body.append(veil);
  const files = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;

  addEventListener("dragover", (event) => {
    if (!files(event)) return;
    // Without this the browser would leave the page for the file.
    event.preventDefault();
    event.dataTransfer!.dropEffect = "copy";
    veil.hidden = false;
  });
  addEventListener("dragleave", (event) => {
    // Only when it leaves the window, not from one element to the next.
    if (event.relatedTarget === null) veil.hidden = true;
  });
  addEventListener("drop", (event) => {
    veil.hidden = true;
    if (!files(event)) return;
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    if (file) take(file);
  });
}
