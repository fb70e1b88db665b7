import { ENCODING_LAWS } from "./encoding.js";
import type { Law } from "./law.js";
import { MALFORMED_LAWS } from "./malformed.js";
import { SIGNATURE_LAWS } from "./signatures.js";
import { WIRE_LAWS } from "./wire.js";

export type { Law, Outcome } from "./law.js";

/** The laws of the protocol. `npm test` checks each once, `npm run fuzz` repeatedly. */
export const LAWS: readonly Law[] = [...ENCODING_LAWS, ...SIGNATURE_LAWS, ...MALFORMED_LAWS, ...WIRE_LAWS];
