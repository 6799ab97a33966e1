/** The package `mrail-gpu` as `wasm-pack build --target web` leaves it in gpu/wasm/pkg; see `mrail-package.d.ts`. */
export * from "../../gpu/wasm/src/types";

/** Loads the .wasm file; without an argument from beside the package's own script. */
export default function init(input?: { module_or_path: BufferSource | URL | Response }): Promise<unknown>;
