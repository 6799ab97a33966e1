/**
 * The package `mrail` as `wasm-pack build --target web` leaves it in wasm/pkg: the classes and functions of wasm's own
 * types, and a default export that loads the module. Mapped here so that types can be checked before anything is built.
 */
export * from "../../wasm/src/types";

/** Loads the .wasm file; without an argument from beside the package's own script. */
export default function init(input?: { module_or_path: BufferSource | URL | Response }): Promise<unknown>;
