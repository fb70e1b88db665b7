// The transactions of the load generators: signed approvals.
import { useNativeCrypto } from "../packages/crypto-native/dist/index.js";
import { TEST_TOKEN } from "../packages/devnet/dist/presets/index.js";
import { bytesToHex, hexToBytes, signTransaction } from "../packages/protocol/dist/index.js";
import { CHAIN_ID, userKey } from "./service/shape.mjs";

await useNativeCrypto();

/** approve(address,uint256) */
const SELECTOR = "0x095ea7b3";

/**
 * A signed approval of a user.
 * @param {number} user
 * @param {{ nonce?: number, gasLimit?: bigint, length?: number, end?: string }} options `length` of the calldata in
 * bytes, and the hex digits that it ends with.
 */
export function signed(user, { nonce = 0, gasLimit = 100_000n, length = 68, end = "" } = {}) {
  const data = new Uint8Array(length);
  data.set(hexToBytes(SELECTOR));
  data.set(hexToBytes(`0x${end}`), length - end.length / 2);
  const tx = { type: "legacy", chainId: BigInt(CHAIN_ID), nonce: BigInt(nonce), gasPrice: 0n, gasLimit };
  return bytesToHex(signTransaction({ ...tx, to: TEST_TOKEN, value: 0n, data }, userKey(user)).raw);
}
