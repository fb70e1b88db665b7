// The values that bodies are made of.
import type { Schema } from "./Schema.js";

export const ADDRESS = { type: "string", pattern: "^0x[0-9a-f]{40}$" } as const satisfies Schema;

export const HASH = { type: "string", pattern: "^0x[0-9a-f]{64}$" } as const satisfies Schema;

/** Decimal text, because the number may pass 2^53. */
export const DECIMAL = { type: "string", pattern: "^(0|[1-9][0-9]*)$" } as const satisfies Schema;

/** ISO 8601, UTC. */
export const TIME = { type: "string", format: "date-time" } as const satisfies Schema;

/** A submission's name (D15). */
export const SUBMISSION_ID = {
  type: "string",
  format: "uuid",
  description: "The submission's name from now on, a UUIDv7 (D15).",
} as const satisfies Schema;

/** The InnerTx's hash (D6). */
export const TX_HASH = {
  ...HASH,
  description: "The hash of the InnerTx: of what the user signed (D6).",
} as const satisfies Schema;
