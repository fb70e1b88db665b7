import { deepStrictEqual, notStrictEqual, strictEqual } from "node:assert";
import {
  bytesEqual,
  bytesToHex,
  checksumAddress,
  decodeInnerTx,
  decodeTransaction,
  encodeTransaction,
  type InnerTx,
  ProtocolError,
  privateKeyToAddress,
  recoverSender,
  signingHash,
  signTransaction,
  type UnsignedTransaction,
} from "@gas-waiver/protocol";
import { computeAddress, SigningKey, Transaction, Wallet } from "ethers";
import fc from "fast-check";
import { keccak256, recoverAddress, recoverTransactionAddress, type TransactionSerialized } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import {
  CURVE_ORDER,
  compact,
  mutation,
  ORACLE_DOMAIN,
  privateKey,
  signature,
  transaction,
  WHOLE_DOMAIN,
} from "./arbitraries.js";
import { reasonOf } from "./encoding.js";
import { type Law, law } from "./law.js";
import { forEthers, forViem } from "./oracles.js";

/** The recovered sender, or undefined if no key can have made the signature. */
function senderOf(tx: InnerTx): string | undefined {
  try {
    return bytesToHex(recoverSender(tx));
  } catch (error) {
    if (error instanceof ProtocolError && error.reason === "INVALID_SIGNATURE") return undefined;
    throw error;
  }
}

const isProtected = (tx: UnsignedTransaction) => tx.chainId !== undefined;
const txAndKey = fc.record({ tx: transaction(ORACLE_DOMAIN), key: privateKey });
const innerTxAndKey = fc.record({ tx: transaction(WHOLE_DOMAIN).filter(isProtected), key: privateKey });

export const SIGNATURE_LAWS: readonly Law[] = [
  law(
    "viem and ethers compute the same hash and recover the same sender",
    { cases: 500, recovers: true },
    txAndKey,
    async ({ tx, key }) => {
      const signed = signTransaction(tx, key);
      const sender = privateKeyToAddress(key);
      const raw = bytesToHex(signed.raw);
      strictEqual(bytesToHex(recoverSender(decodeTransaction(signed.raw))), bytesToHex(sender));
      const theirs = Transaction.from(raw);
      strictEqual(theirs.hash, keccak256(raw));
      strictEqual(theirs.from, checksumAddress(sender));
      const serializedTransaction = raw as TransactionSerialized;
      strictEqual(await recoverTransactionAddress({ serializedTransaction }), checksumAddress(sender));
    },
  ),
  law(
    "viem and ethers sign the same bytes, and the protocol recovers their signer",
    { cases: 300, recovers: true },
    txAndKey,
    async ({ tx, key }) => {
      const raw = bytesToHex(signTransaction(tx, key).raw);
      const account = privateKeyToAccount(bytesToHex(key));
      strictEqual(await account.signTransaction(forViem(tx)), raw);
      const wallet = new Wallet(bytesToHex(key));
      strictEqual(await wallet.signTransaction(forEthers(tx)), raw);
      strictEqual(checksumAddress(recoverSender(signTransaction(tx, key))), account.address);
    },
  ),
  law(
    "any r and s recover to the same sender, or to none, as in viem and ethers",
    { cases: 400, recovers: true },
    fc.record({ tx: transaction(ORACLE_DOMAIN), signature }),
    async ({ tx, signature }) => {
      const hash = bytesToHex(signingHash(tx));
      const parts = {
        r: bytesToHex(signature.compact.subarray(0, 32)),
        s: bytesToHex(signature.compact.subarray(32)),
        yParity: signature.yParity,
      };
      const raw = encodeTransaction(tx, signature);
      const sender = senderOf(decodeTransaction(raw) as InnerTx);
      const byViem = await recoverAddress({ hash, signature: parts }).catch(() => undefined);
      strictEqual(byViem?.toLowerCase(), sender);
      let byEthers: string | undefined;
      try {
        byEthers = computeAddress(SigningKey.recoverPublicKey(hash, parts));
      } catch {
        // No key can have made this signature.
      }
      strictEqual(byEthers?.toLowerCase(), sender);
    },
  ),
  law(
    "a mutated signed transaction is refused, or has another sender",
    { cases: 1_000, recovers: true },
    fc.record({ signed: innerTxAndKey, mutate: mutation }),
    ({ signed: { tx, key }, mutate }) => {
      const { raw } = signTransaction(tx, key);
      const mutated = mutate(raw);
      if (bytesEqual(mutated, raw)) return;
      let accepted: InnerTx;
      try {
        accepted = decodeInnerTx(mutated);
      } catch (error) {
        if (error instanceof ProtocolError) return;
        throw error;
      }
      notStrictEqual(senderOf(accepted), bytesToHex(privateKeyToAddress(key)));
    },
  ),
  law(
    "other fields under the same signature have another sender",
    { cases: 600, recovers: true },
    fc.record({ signed: innerTxAndKey, other: transaction(WHOLE_DOMAIN).filter(isProtected) }),
    ({ signed: { tx, key }, other }) => {
      const signed = signTransaction(tx, key);
      const sender = bytesToHex(privateKeyToAddress(key));
      // Exchange one field at a time, then all fields at once.
      for (const field of ["nonce", "gasLimit", "value", "chainId", "data", "to", "all"] as const) {
        const forged = field === "all" ? other : ({ ...tx, [field]: other[field] } as UnsignedTransaction);
        const raw = encodeTransaction(forged, signed.signature);
        if (bytesEqual(raw, signed.raw)) continue;
        notStrictEqual(senderOf(decodeInnerTx(raw)), sender, field);
      }
    },
  ),
  law(
    "the high-s form of a signature (n - s, other parity) is refused, though it recovers to the same sender",
    { cases: 200, recovers: true },
    txAndKey,
    async ({ tx, key }) => {
      const signed = signTransaction(tx, key);
      const r = BigInt(bytesToHex(signed.signature.compact.subarray(0, 32)));
      const s = BigInt(bytesToHex(signed.signature.compact.subarray(32)));
      const highS = {
        compact: compact(r, CURVE_ORDER - s),
        yParity: signed.signature.yParity === 0 ? (1 as const) : (0 as const),
      };
      strictEqual(
        reasonOf(() => decodeTransaction(encodeTransaction(tx, highS))),
        "HIGH_S_SIGNATURE",
      );
      const recovered = recoverSender({ ...tx, signature: highS, raw: signed.raw });
      deepStrictEqual(recovered, privateKeyToAddress(key));
    },
  ),
];
