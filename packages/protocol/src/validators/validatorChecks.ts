import type { Crypto } from "../crypto/cryptoBackend.js";
import { bytesEqual, bytesToHex } from "../encoding/hex.js";
import { assertVerdict } from "../policy/AllowedTarget.js";
import { ProtocolError } from "../protocolError.js";
import type { Reason } from "../reasons/index.js";
import { decodeTransaction } from "../transactions/decodeTransaction.js";
import { assertCall, assertIntrinsicGas, type InnerTx } from "../transactions/InnerTx.js";
import { intrinsicGas } from "../transactions/intrinsicGas.js";
import { highestGasPrice, recoverSender, type SignedTransaction } from "../transactions/SignedTransaction.js";
import { isWrapper } from "../transactions/WrapperTx.js";
import type { ChainView, NonceRule } from "./chainView.js";

// The checks of D7, one function each. validatorRules.ts runs them in their order.

/**
 * Runs a check and names it in its error. `reason` replaces the decoder's own, which would be taken for a fault of the
 * InnerTx.
 */
export function nameCheck<T>(check: string, reason: Reason | undefined, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    const values = { ...error.values, check };
    if (reason === undefined || error.reason.startsWith("WRAPPER_")) {
      throw new ProtocolError(error.reason, error.message, values);
    }
    throw new ProtocolError(reason, `the wrapper is invalid: ${error.message}`, {
      ...values,
      cause: error.reason,
    });
  }
}

/** Decodes a wrapper: to the marker, and legacy or of zero fees (docs/protocol.md#check-wrapper-decodes). */
export function decodeWrapper(raw: Uint8Array): SignedTransaction {
  const wrapper = decodeTransaction(raw);
  if (!isWrapper(wrapper)) {
    const to = wrapper.to === undefined ? null : bytesToHex(wrapper.to);
    throw new ProtocolError(
      "WRAPPER_INVALID",
      `the transaction is not a wrapper: it goes to ${to ?? "no address"}, not to the marker`,
      { to },
    );
  }
  if (wrapper.type !== "legacy") assertWrapperPrice(wrapper);
  return wrapper;
}

/** Recovers the waiver, and asserts that it signed for this chain (docs/protocol.md#check-wrapper-signature). */
export function recoverWaiver(wrapper: SignedTransaction, chainId: bigint, crypto: Crypto): Uint8Array {
  if (wrapper.chainId !== chainId) {
    throw new ProtocolError(
      "WRAPPER_WRONG_CHAIN_ID",
      `the wrapper is signed for chain ${wrapper.chainId ?? "any"}, this is chain ${chainId}`,
      { chainId: wrapper.chainId?.toString() ?? null, expected: chainId.toString() },
    );
  }
  return recoverSender(wrapper, crypto);
}

/** Asserts docs/protocol.md#rule-1-waiver-registered. */
export async function assertRegistered(waiver: Uint8Array, chain: ChainView): Promise<void> {
  if (await chain.isWaiver(waiver)) return;
  const address = bytesToHex(waiver);
  throw new ProtocolError("WAIVER_NOT_REGISTERED", `${address} is not a registered waiver`, {
    check: "waiver registered",
    waiver: address,
  });
}

/** Asserts docs/protocol.md#rule-2-gas-price-zero for the wrapper. */
export function assertWrapperPrice(wrapper: SignedTransaction): void {
  const gasPrice = highestGasPrice(wrapper);
  if (gasPrice === 0n) return;
  throw new ProtocolError("WRAPPER_NON_ZERO_GAS_PRICE", `the wrapper's gas price is ${gasPrice} wei, not 0`, {
    check: "wrapper gas price",
    gasPrice: gasPrice.toString(),
  });
}

/** Asserts docs/protocol.md#rule-4-wrapper-value-zero. */
export function assertWrapperValue(wrapper: SignedTransaction): void {
  if (wrapper.value === 0n) return;
  throw new ProtocolError("WRAPPER_NON_ZERO_VALUE", `the wrapper's value is ${wrapper.value} wei, not 0`, {
    check: "wrapper value",
    value: wrapper.value.toString(),
  });
}

/** Asserts docs/protocol.md#rule-3-target-and-selector. */
export async function assertPolicy(waiver: Uint8Array, inner: InnerTx, chain: ChainView): Promise<void> {
  const check = "target and selector";
  // No policy permits contract creation or a wrapper inside a wrapper (D3).
  const to = nameCheck(check, undefined, () => assertCall(inner));
  const verdict = await chain.isAllowed(waiver, to, inner.data);
  const whose = `the policy of waiver ${bytesToHex(waiver)}`;
  nameCheck(check, undefined, () => assertVerdict(verdict, to, inner.data, whose));
}

/** Asserts docs/protocol.md#check-wrapper-nonce. */
export async function assertWrapperNonce(
  waiver: Uint8Array,
  wrapper: SignedTransaction,
  chain: ChainView,
  nonces: NonceRule,
): Promise<void> {
  const expected = await chain.nonceOf(waiver);
  const values = {
    check: "wrapper nonce",
    waiver: bytesToHex(waiver),
    nonce: wrapper.nonce.toString(),
    expected: expected.toString(),
  };
  if (wrapper.nonce < expected) {
    const message = `nonce too low: the wrapper's nonce is ${wrapper.nonce}, the waiver's next is ${expected}`;
    throw new ProtocolError("WRAPPER_NONCE_TOO_LOW", message, values);
  }
  if (wrapper.nonce > expected && nonces === "exact") {
    const message = `nonce too high: the wrapper's nonce is ${wrapper.nonce}, the waiver's next is ${expected}`;
    throw new ProtocolError("WRAPPER_NONCE_GAP", message, values);
  }
}

/** Asserts docs/protocol.md#check-inner-nonce. */
export function assertInnerNonce(
  sender: Uint8Array,
  inner: InnerTx,
  expected: bigint,
  nonces: NonceRule,
): void {
  const values = {
    check: "inner nonce",
    sender: bytesToHex(sender),
    nonce: inner.nonce.toString(),
    expected: expected.toString(),
  };
  if (inner.nonce < expected) {
    const message = `inner nonce too low: it is ${inner.nonce}, the next of ${values.sender} is ${expected}`;
    throw new ProtocolError("NONCE_TOO_LOW", message, values);
  }
  if (inner.nonce > expected && nonces === "exact") {
    const message = `inner nonce too high: it is ${inner.nonce}, the next of ${values.sender} is ${expected}`;
    throw new ProtocolError("NONCE_GAP", message, values);
  }
}

/** Begins the code of an account that has delegated to a contract (EIP-7702). */
const DELEGATION = Uint8Array.of(0xef, 0x01, 0x00);

/**
 * Asserts that an account is no contract, and so may send transactions (docs/protocol.md#check-sender-code, EIP-3607).
 * @param code the code of the account.
 * @example
 * ```ts
 * assertNoContract(hexToBytes("0x70997970c51812dc3a010c7d01b50e0d17dc79c8"), new Uint8Array(0));
 * ```
 */
export function assertNoContract(sender: Uint8Array, code: Uint8Array): void {
  if (code.length === 0 || bytesEqual(code.subarray(0, DELEGATION.length), DELEGATION)) return;
  const address = bytesToHex(sender);
  throw new ProtocolError(
    "SENDER_IS_CONTRACT",
    `sender not an eoa: ${address} is a contract with ${code.length} bytes of code (EIP-3607)`,
    { sender: address, codeBytes: code.length },
  );
}

/** Asserts that the sender's balance covers the inner value (docs/protocol.md#check-inner-value). */
export async function assertBalance(sender: Uint8Array, inner: InnerTx, chain: ChainView): Promise<void> {
  if (inner.value === 0n) return;
  const balance = await chain.balanceOf(sender);
  if (balance >= inner.value) return;
  const address = bytesToHex(sender);
  throw new ProtocolError(
    "INSUFFICIENT_BALANCE",
    `the balance of ${address} is ${balance} wei, the inner transaction carries ${inner.value}`,
    { check: "inner value", sender: address, balance: balance.toString(), value: inner.value.toString() },
  );
}

/**
 * Asserts that the wrapper's gas limit covers the inner's, the wrapper's intrinsic gas and the chain's verification gas,
 * and the inner's covers the inner's own (docs/protocol.md#check-wrapper-gas-limit).
 */
export function assertWrapperGas(wrapper: SignedTransaction, inner: InnerTx, verificationGas: bigint): void {
  const check = "wrapper gas limit";
  nameCheck(check, undefined, () => assertIntrinsicGas(inner));
  const intrinsic = intrinsicGas(wrapper);
  const needed = inner.gasLimit + intrinsic + verificationGas;
  if (wrapper.gasLimit >= needed) return;
  throw new ProtocolError(
    "WRAPPER_GAS_LIMIT_TOO_LOW",
    `the wrapper's gas limit is ${wrapper.gasLimit}, not ${needed}: the inner's ${inner.gasLimit}, its own intrinsic gas of ${intrinsic} and ${verificationGas} for verification`,
    { check, gasLimit: wrapper.gasLimit.toString(), needed: needed.toString() },
  );
}
