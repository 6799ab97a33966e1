import type { Plugin } from "vite";

/**
 * What the built page may do: run its own scripts and WebAssembly, and read maps from wherever ?url= points. Nothing
 * else: no script, style or font from anywhere else, no inline script.
 */
const POLICY = [
  "default-src 'self'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self' http: https: blob:",
  "worker-src 'self' blob:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

/** Writes the policy into the built index.html, so that it holds on any host; the development server needs inline scripts. */
export function contentSecurityPolicy(): Plugin {
  return {
    name: "mrail-csp",
    apply: "build",
    transformIndexHtml: () => [
      { tag: "meta", attrs: { "http-equiv": "Content-Security-Policy", content: POLICY }, injectTo: "head-prepend" },
    ],
  };
}
