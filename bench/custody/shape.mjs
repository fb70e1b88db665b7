// Shared by the programs of bench:custody: the keys, and the custody's latency and limit.
import { createHash } from "node:crypto";

/** The time of a signature, and the signatures that the custody makes with one key in any second. */
export const SIGNATURE_MS = 100;
export const KEY_LIMIT = 300;

/** The private key of one of the waivers. */
export function waiverKeyOf(i) {
  return Uint8Array.from(createHash("sha256").update(`waiver ${i} of the custody benchmark`).digest());
}
