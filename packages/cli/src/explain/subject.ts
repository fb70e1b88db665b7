import { type Hex, hexToBytes, InvalidHexError } from "@gas-waiver/protocol";
import { InvalidValueError } from "../settings/setting.js";

/** The transaction that somebody asks about, as they name it. */
export type Subject =
  | { readonly kind: "id"; readonly id: string }
  | { readonly kind: "hash"; readonly hash: Hex }
  | { readonly kind: "raw"; readonly raw: Hex };

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const HASH = /^0x[0-9a-f]{64}$/i;

/**
 * Reads the name of a transaction: the id of its line, its hash, or its signed bytes.
 * @throws InvalidValueError
 */
export function parseSubject(text: string): Subject {
  const name = text.trim();
  if (UUID.test(name)) return { kind: "id", id: name.toLowerCase() };
  if (HASH.test(name)) return { kind: "hash", hash: name.toLowerCase() as Hex };
  try {
    if (hexToBytes(name).length > 0) return { kind: "raw", raw: name as Hex };
  } catch (error) {
    if (!(error instanceof InvalidHexError)) throw error;
  }
  throw new InvalidValueError("is neither an id of a submission, a hash, nor a signed transaction as 0x hex");
}
