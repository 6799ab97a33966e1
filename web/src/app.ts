import type { Client } from "./client.ts";
import { asFailure, type Failure } from "./failure.ts";
import type { Opened, Source } from "./protocol.ts";
import { isSample, SAMPLES } from "./samples.ts";
import { h, replace } from "./ui/dom.ts";
import { acceptDrops } from "./ui/drop.ts";
import { header } from "./ui/header.ts";
import { landing } from "./ui/landing.ts";
import { MapView } from "./ui/map-view.ts";
import { failureNotice, OpeningNotice } from "./ui/notice.ts";

/** The map that an address of this page names, or nothing. */
function mapOf(address: string): string {
  return new URL(address).searchParams.get("url") ?? "";
}

/** Ties the parts together: which map is open, how it is opened, and what is said while that goes on or fails. */
export class App {
  readonly #client: Client;
  readonly #messages = h("div", { className: "messages" });
  readonly #content = h("div", { className: "content" });
  readonly #picker = h("input", { type: "file", accept: ".mrail", hidden: true });
  #view: MapView | undefined;
  #opening: AbortController | undefined;
  /** The part of the address that says which map is shown. */
  #shown = "";
  #last: { source: Source; trusted: boolean } | undefined;

  constructor(root: HTMLElement, client: Client) {
    this.#client = client;
    client.died = (failure) => this.#fail(failure);
    const choose = (): void => this.#picker.click();
    this.#picker.onchange = () => {
      const file = this.#picker.files?.[0];
      // The same file again must be a change too.
      this.#picker.value = "";
      if (file) this.#file(file);
    };
    root.append(header({ home: () => this.#home(), choose }), this.#messages, this.#content, this.#picker);
    acceptDrops((file) => this.#file(file));
    addEventListener("popstate", () => mapOf(location.href) !== this.#shown && this.#route());
    this.#route();
  }

  /** Shows what the address says: a map, or the way to one. */
  #route(): void {
    const url = mapOf(location.href);
    this.#shown = url;
    this.#landing();
    if (url !== "") void this.#address(url);
  }

  #landing(): void {
    this.#view?.close();
    this.#view = undefined;
    document.title = "mrail";
    replace(
      this.#content,
      landing({
        sample: (file) => void this.#address(`maps/${file}`),
        choose: () => this.#picker.click(),
        address: (url) => void this.#address(url),
      }),
    );
  }

  #home(): void {
    this.#opening?.abort();
    this.#setAddress(location.pathname);
    replace(this.#messages);
    this.#landing();
  }

  #file(file: File): void {
    void this.#open({ name: file.name, file }, false, location.pathname);
  }

  /** Opens a map from an address, given in full or as seen from this page. Only the page's own maps are trusted at once. */
  async #address(address: string): Promise<void> {
    let url: string;
    try {
      url = new URL(address, document.baseURI).href;
    } catch {
      return this.#fail({ kind: "address", message: `“${address}” is no address.`, advice: "Give the whole address of a .mrail file." });
    }
    const name = decodeURIComponent(new URL(url).pathname.split("/").at(-1) || new URL(url).host);
    const own = isSample(url, document.baseURI);
    // Slashes and colons may stand in a query as they are, and are easier to read.
    const query = encodeURIComponent(address).replace(/%2F/g, "/").replace(/%3A/g, ":");
    await this.#open({ name, url }, own, `${location.pathname}?url=${query}`);
  }

  async #open(source: Source, trusted: boolean, address: string): Promise<void> {
    this.#opening?.abort();
    const opening = new AbortController();
    this.#opening = opening;
    const progress = new OpeningNotice(source.name, () => opening.abort());
    // What opens at once needs no message that flashes by.
    const slow = setTimeout(() => replace(this.#messages, progress.element), 250);
    replace(this.#messages);
    this.#last = { source, trusted };
    try {
      const opened = await this.#client.call("open", [source, trusted], { signal: opening.signal, onProgress: (at) => progress.show(at) });
      if (opening.signal.aborted) return;
      replace(this.#messages);
      // A place in the map before means nothing in this one; the address that the page was opened with does.
      const place = this.#view === undefined && mapOf(new URL(address, location.href).href) === mapOf(location.href) ? location.hash : "";
      this.#setAddress(address + place);
      this.#show(opened);
    } catch (thrown) {
      const failure = asFailure(thrown);
      if (this.#opening !== opening) return;
      if (failure.kind === "cancelled") replace(this.#messages);
      else this.#fail(failure);
    } finally {
      clearTimeout(slow);
    }
  }

  /** A new entry of the history, unless nothing but the place in the map changed. */
  #setAddress(address: string): void {
    const same = mapOf(new URL(address, location.href).href) === mapOf(location.href);
    history[same ? "replaceState" : "pushState"](null, "", address);
    this.#shown = mapOf(location.href);
  }

  async #declare(trusted: boolean): Promise<void> {
    try {
      const opened = await this.#client.call("declare", [trusted]);
      const asked = this.#view?.asked;
      if (this.#last) this.#last.trusted = trusted;
      this.#show(opened);
      // The same question, under the new declaration.
      if (asked) this.#view?.ask(asked);
      this.#content.querySelector<HTMLElement>(".trust input")?.focus();
    } catch (thrown) {
      this.#fail(asFailure(thrown));
    }
  }

  #show(opened: Opened): void {
    this.#view?.close();
    this.#view = new MapView(this.#client, opened, (trusted) => void this.#declare(trusted));
    document.title = `${opened.name} · mrail`;
    replace(this.#content, this.#view.element);
    this.#view.start();
    this.#content.querySelector<HTMLElement>("#map-name")?.focus({ preventScroll: true });
  }

  #fail(failure: Failure): void {
    const last = this.#last;
    const again = last && /^(crashed|setup|no-map|network|interrupted|http)$/.test(failure.kind);
    const box = failureNotice(failure, [
      ...(again ? [{ label: "Try again", run: () => void this.#open(last.source, last.trusted, location.pathname + location.search) }] : []),
      ...(this.#view === undefined ? [] : [{ label: "Dismiss", run: () => replace(this.#messages) }]),
      ...(this.#view === undefined ? [{ label: "Open the sample map", run: () => void this.#address(`maps/${SAMPLES[0]!.file}`) }] : []),
    ]);
    replace(this.#messages, box);
  }
}
