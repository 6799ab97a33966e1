import type { DraftNode } from "../protocol.ts";
import { h } from "./dom.ts";
import { visibleText } from "./tokens-view.ts";

/**
 * A draft tree as nested lists. Tokens that follow one another without a fork share a line, so that what is seen is the
 * forks, best first.
 */
export function draftView(nodes: DraftNode[]): HTMLElement {
  const children = new Map<number, number[]>();
  nodes.forEach(({ parent }, i) => children.set(parent, [...(children.get(parent) ?? []), i]));

  const branches = (parent: number): HTMLElement => {
    const list = h("ul", { className: "draft" });
    for (const start of children.get(parent) ?? []) {
      const line = h("span", { className: "draft-line" });
      let at = start;
      for (;;) {
        line.append(h("span", { className: "draft-token" }, visibleText(nodes[at]!.text)));
        const next = children.get(at) ?? [];
        if (next.length !== 1) break;
        at = next[0]!;
      }
      list.append(h("li", {}, line, children.has(at) && branches(at)));
    }
    return list;
  };
  return branches(-1);
}
