import { addressesByKey } from "./attack.mjs";
import { HONEST_KEY, HONEST_RATE, PUBLIC_KEYS } from "./shape.mjs";

/** The µs of the event loop that a second pays off for all keys together, and those of a wallet's call. */
const SHARED_PER_SECOND = 500_000;
const CALL_US = 800;
/** Honest parties ask for this part of their shares. */
const ASKED = 0.5;
const LEAST = 25;

/**
 * The wallets that share the honest calls beside a mixture. The law promises something to parties that ask for less than their shares: the
 * keys have equal ones, and so have the addresses under a key, each wallet among those of the attackers.
 */
export function walletsBeside(mixture) {
  const addresses = addressesByKey(mixture);
  const keys = new Set([...addresses.keys(), HONEST_KEY, PUBLIC_KEYS[0]]).size;
  const asked = (HONEST_RATE * CALL_US) / (ASKED * (SHARED_PER_SECOND / keys));
  const others = addresses.get(PUBLIC_KEYS[0])?.size ?? 0;
  // There are `wallets + others` equal shares, and those of the wallets have room for all they ask.
  return Math.max(LEAST, Math.ceil((asked * others) / (1 - asked)));
}
