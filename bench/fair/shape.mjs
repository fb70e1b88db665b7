// Shared by the fairness measurements: signed transactions, and the calldata that the node refuses.
import { useNativeCrypto } from "../../packages/crypto-native/dist/index.js";
import { TEST_TOKEN } from "../../packages/devnet/dist/presets/index.js";
import { bytesToHex, hexToBytes, signTransaction } from "../../packages/protocol/dist/index.js";
import { CHAIN_ID, userKey } from "../service/shape.mjs";

await useNativeCrypto();

/** approve(address,uint256) */
const SELECTOR = "0x095ea7b3";
/** The ends of the calldata of transactions that the node refuses by an error of its own, and by status 413. */
export const UNKNOWN_ERROR = "5ca1ab1e";
export const TOO_LARGE = "0b57ac1e";

/** A signed approval of a user. Its calldata ends with `end`. */
export function signed(user, nonce = 0, end = "00000000") {
  const data = hexToBytes(`${SELECTOR}${"00".repeat(60)}${end}`);
  const tx = { type: "legacy", chainId: BigInt(CHAIN_ID), gasPrice: 0n, gasLimit: 100_000n };
  const { raw } = signTransaction(
    { ...tx, nonce: BigInt(nonce), to: TEST_TOKEN, value: 0n, data },
    userKey(user),
  );
  return bytesToHex(raw);
}
