/** What may stand inside an element. */
export type Child = Node | string | number | false | null | undefined;

type Properties<T extends keyof HTMLElementTagNameMap> = Partial<Omit<HTMLElementTagNameMap[T], "style" | "dataset">> & {
  /** Attributes that are no properties: `aria-*`, `role`, `for` and the like. */
  attrs?: Record<string, string | number | boolean | undefined>;
  data?: Record<string, string>;
};

/** An element with properties, attributes and children. Text is always text, never markup. */
export function h<T extends keyof HTMLElementTagNameMap>(tag: T, properties: Properties<T> = {}, ...children: Child[]): HTMLElementTagNameMap[T] {
  const element = document.createElement(tag);
  const { attrs, data, ...rest } = properties;
  Object.assign(element, rest);
  for (const [name, value] of Object.entries(attrs ?? {})) setAttribute(element, name, value);
  Object.assign(element.dataset, data);
  append(element, children);
  return element;
}

export function append(parent: Element, children: Child[]): void {
  for (const child of children) {
    if (child === false || child === null || child === undefined) continue;
    parent.append(typeof child === "number" ? String(child) : child);
  }
}

export function replace(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  append(parent, children);
}

/** `true` sets an empty attribute, `false` and undefined remove it. */
export function setAttribute(element: Element, name: string, value: string | number | boolean | undefined): void {
  if (value === undefined || value === false) element.removeAttribute(name);
  else element.setAttribute(name, value === true ? "" : String(value));
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag: string, attrs: Record<string, string | number>, ...children: Element[]): SVGElement {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attrs)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

let ids = 0;

/** An id that no other element has. */
export function uniqueId(prefix: string): string {
  return `${prefix}-${++ids}`;
}
