/**
 * Something that went wrong, for a person: what happened (`message`), and what to do about it (`advice`).
 *
 * A plain object, since it crosses from the worker to the page; thrown, it travels as the cause of a `FailureError`.
 */
export interface Failure {
  /** Stable; the package's own kinds and those of the page. */
  kind: string;
  message: string;
  advice?: string;
  /** Byte offset in the file, where there is one. */
  offset?: number;
}

export class FailureError extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.name = "FailureError";
    this.failure = failure;
  }
}

/** Whatever was thrown, as something that can be shown. */
export function asFailure(thrown: unknown): Failure {
  if (thrown instanceof FailureError) return thrown.failure;
  if (thrown instanceof DOMException && thrown.name === "AbortError") return { kind: "cancelled", message: "Cancelled." };
  if (thrown instanceof Error) {
    // A trap inside WebAssembly: the module's memory may be half-way through a change.
    if (thrown.name === "RuntimeError") {
      return { kind: "crashed", message: `The worker stopped: ${thrown.message}.`, advice: "Open the map again." };
    }
    const { kind, offset } = thrown as { kind?: unknown; offset?: unknown };
    return {
      kind: typeof kind === "string" ? kind : "internal",
      message: thrown.message,
      ...(typeof offset === "number" ? { offset } : {}),
    };
  }
  return { kind: "internal", message: String(thrown) };
}
