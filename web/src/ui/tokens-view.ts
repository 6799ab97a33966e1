import type { Client } from "../client.ts";
import { asFailure } from "../failure.ts";
import { counted, formatCount } from "../format.ts";
import { copyButton } from "./copy.ts";
import { h, replace } from "./dom.ts";

/** Tokens drawn at once; the rest can be copied. */
const SHOWN = 3000;

/** Token ids with their texts, asked for when they are unfolded. */
export function tokensView(client: Client, ids: Uint32Array, title = "Token ids"): HTMLElement {
  const body = h("div", { className: "tokens-body" });
  const details = h("details", { className: "tokens" }, h("summary", {}, title, h("span", { className: "quiet" }, ` ${counted(ids.length, "token")}`)), body);
  let asked = false;
  details.ontoggle = async () => {
    if (asked || !details.open) return;
    asked = true;
    try {
      const tokens = await client.call("tokens", [ids.slice(0, SHOWN)]);
      const list = h("ol", { className: "token-grid" });
      for (const { id, text } of tokens) list.append(h("li", {}, h("span", { className: "token-text" }, visibleText(text)), h("span", { className: "token-id" }, id)));
      replace(
        body,
        h("div", { className: "actions" }, copyButton("Copy ids", () => ids.join(" "))),
        list,
        ids.length > SHOWN && h("p", { className: "quiet" }, `The first ${formatCount(SHOWN)} of ${formatCount(ids.length)}.`),
      );
    } catch (thrown) {
      asked = false;
      replace(body, h("p", {}, asFailure(thrown).message));
    }
  };
  return details;
}

/** Spaces and line ends as signs that can be seen. */
export function visibleText(text: string): string {
  return text.replace(/ /g, "␣").replace(/\n/g, "⏎").replace(/\r/g, "␍").replace(/\t/g, "⇥");
}
