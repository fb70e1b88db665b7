// Shared by all attacks: the API keys of the good client and of the attacker, and signed transactions.
import { useNativeCrypto } from "../../packages/crypto-native/dist/index.js";
import { TEST_TOKEN } from "../../packages/devnet/dist/presets/index.js";
import { bytesToHex, hexToBytes, signTransaction } from "../../packages/protocol/dist/index.js";
import { CHAIN_ID, userKey } from "../service/shape.mjs";

await useNativeCrypto();

export const CLIENT_KEY = "a-good-clients-key-7d91c0a4e6b2f835";
export const ATTACKERS_KEY = "an-attackers-key-2c85f1e7b0d3946a";

/** The keys of the kinds of requests that `one-connection` sends. */
export const KIND_KEYS = Array.from({ length: 22 }, (_, i) => `a-key-of-kind-${i}-9c04e7d1b8f2a356`);

/** approve(address,uint256) */
const SELECTOR = "0x095ea7b3";

/** A signed approval of a user, with calldata of `length` bytes. */
export function signedBy(user, { length = 68, gasLimit = 100_000n } = {}) {
  const data = new Uint8Array(length);
  data.set(hexToBytes(SELECTOR));
  const tx = { type: "legacy", chainId: BigInt(CHAIN_ID), nonce: 0n, gasPrice: 0n, gasLimit };
  return bytesToHex(signTransaction({ ...tx, to: TEST_TOKEN, value: 0n, data }, userKey(user)).raw);
}
