import { createHash } from "node:crypto";
import { useNativeCrypto } from "../../packages/crypto-native/dist/index.js";
import { accountsOf, DEVNET_CHAIN_ID, TEST_TOKEN } from "../../packages/devnet/dist/index.js";
import {
  bytesToHex,
  concatBytes,
  decodeInnerTx,
  hexToBytes,
  signTransaction,
  signWrapperTxWithKey,
} from "../../packages/protocol/dist/index.js";

await useNativeCrypto();

/** The devnet's minimum gas price, in wei. */
const GAS_PRICE = 1_000_000_000n;
const RECIPIENTS = 10_000;
const TRANSFER = hexToBytes("0xa9059cbb");

/**
 * Signs token transfers of the ten users in turn, wrapped by the two waivers in turn. Each recipient gets the smallest
 * unit. The same index gives the same bytes.
 * @param {number} from the index of the first transaction in the whole load
 * @param {number} count
 * @returns {`0x${string}`[]} signed wrappers
 */
function wrappedTransfers(from, count) {
  const users = accountsOf("user").map(keyOf);
  const waivers = accountsOf("waiver").map(keyOf);
  return Array.from({ length: count }, (_, offset) => {
    const i = from + offset;
    const inner = signTransaction(
      {
        type: "legacy",
        chainId: DEVNET_CHAIN_ID,
        nonce: BigInt(Math.floor(i / users.length)),
        gasPrice: 0n,
        gasLimit: 100_000n,
        to: TEST_TOKEN,
        value: 0n,
        data: concatBytes(TRANSFER, new Uint8Array(12), recipient(i), word(1n)),
      },
      users[i % users.length],
    );
    const waiver = waivers[i % waivers.length];
    const nonce = BigInt(Math.floor(i / waivers.length));
    return bytesToHex(signWrapperTxWithKey(decodeInnerTx(inner.raw), waiver, { nonce }).raw);
  });
}

/**
 * Signs payments of one wei by the accounts that genesis funds, in turn. Anvil funds the same accounts and accepts the
 * same bytes.
 */
function plainTransfers(from, count) {
  const payers = payingAccounts().map(keyOf);
  return Array.from({ length: count }, (_, offset) => {
    const i = from + offset;
    const tx = {
      type: "legacy",
      chainId: DEVNET_CHAIN_ID,
      nonce: BigInt(Math.floor(i / payers.length)),
      gasPrice: GAS_PRICE,
      gasLimit: 21_000n,
      to: recipient(i),
      value: 1n,
      data: new Uint8Array(0),
    };
    return bytesToHex(signTransaction(tx, payers[i % payers.length]).raw);
  });
}

/** The accounts whose nonces a load of this kind uses. */
export function signersOf(kind) {
  const accounts = kind === "plain" ? payingAccounts() : [...accountsOf("user"), ...accountsOf("waiver")];
  return accounts.map(({ address }) => address);
}

export const LOADS = { wrapped: wrappedTransfers, plain: plainTransfers };

function payingAccounts() {
  return [...accountsOf("funded"), ...accountsOf("validator")];
}

function keyOf({ privateKey }) {
  return hexToBytes(privateKey);
}

/** One of {@link RECIPIENTS} addresses that no genesis has. */
function recipient(i) {
  const digest = createHash("sha256")
    .update(`recipient ${i % RECIPIENTS}`)
    .digest();
  return Uint8Array.from(digest.subarray(0, 20));
}

function word(value) {
  return hexToBytes(`0x${value.toString(16).padStart(64, "0")}`);
}
