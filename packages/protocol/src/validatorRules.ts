import { assertVerdict, type Verdict } from "./AllowedTarget.js";
import { crypto as defaultCrypto } from "./crypto/crypto.js";
import type { Crypto } from "./crypto/cryptoBackend.js";
import { decodeTransaction } from "./decodeTransaction.js";
import { bytesEqual, bytesToHex } from "./hex.js";
import {
  assertCall,
  assertChainId,
  assertIntrinsicGas,
  assertZeroGasPrice,
  decodeInnerTx,
  type InnerTx,
} from "./InnerTx.js";
import { intrinsicGas } from "./intrinsicGas.js";
import { MARKER_ADDRESS } from "./network.js";
import { ProtocolError } from "./protocolError.js";
import type { Reason } from "./reasons.js";
import { highestGasPrice, recoverSender, type SignedTransaction } from "./SignedTransaction.js";

type MaybePromise<T> = T | Promise<T>;

/** The state of the chain that the validators' rules read. Addresses are 20 bytes. */
export interface ChainView {
  readonly chainId: bigint;
  isWaiver(address: Uint8Array): MaybePromise<boolean>;
  /** Returns the verdict of the waiver's AllowedTarget policy (D4). */
  isAllowed(waiver: Uint8Array, to: Uint8Array, data: Uint8Array): MaybePromise<Verdict>;
  /** Returns the next nonce of an account. */
  nonceOf(address: Uint8Array): MaybePromise<bigint>;
  /** Returns the balance of an account, in wei. */
  balanceOf(address: Uint8Array): MaybePromise<bigint>;
}

/**
 * The rule for nonces. `exact`: a nonce must be the account's next (a strict pool, and every block). `gaps`: a
 * nonce further ahead may wait (a queueing pool).
 */
export type NonceRule = "exact" | "gaps";

/** A wrapper that keeps every rule, with what checking the rules computed. */
export interface ValidWrapper {
  readonly wrapper: SignedTransaction;
  /** The signer of the wrapper, 20 bytes. */
  readonly waiver: Uint8Array;
  readonly inner: InnerTx;
  /** The signer of the InnerTx, 20 bytes. */
  readonly sender: Uint8Array;
}

/**
 * Tells whether a transaction is a wrapper: if and only if its `to` is the marker address
 * (docs/protocol.md#definitions).
 * @example
 * ```ts
 * if (isWrapper(tx)) console.log("carries", bytesToHex(decodeInnerTx(tx.data).raw));
 * ```
 */
export function isWrapper(tx: { readonly to: Uint8Array | undefined }): boolean {
  return tx.to !== undefined && bytesEqual(tx.to, MARKER_ADDRESS);
}

/**
 * Asserts the validators' rules on the bytes of a transaction to the marker, in the order of D7. A refusal must
 * change no state and use no nonce.
 * @throws {@link ProtocolError} for the first check that fails; `values.check` is its name.
 * @example
 * ```ts
 * const { waiver, sender } = await assertWrapper(hexToBytes(signedHex), {
 *   chainId: CHAIN_IDS.testnet,
 *   isWaiver: () => true,
 *   isAllowed: (_waiver, to, data) => compilePolicy([{ address: "*" }]).check(to, data),
 *   nonceOf: () => 0n,
 *   balanceOf: () => 0n,
 * });
 * ```
 */
export async function assertWrapper(
  raw: Uint8Array,
  chain: ChainView,
  nonces: NonceRule = "exact",
  crypto: Crypto = defaultCrypto,
): Promise<ValidWrapper> {
  const wrapper = nameCheck("wrapper decodes", "WRAPPER_INVALID", () => decodeWrapper(raw));
  const waiver = nameCheck("wrapper signature", "WRAPPER_INVALID_SIGNATURE", () =>
    recoverWaiver(wrapper, chain.chainId, crypto),
  );
  await assertRegistered(waiver, chain);
  assertWrapperPrice(wrapper);
  assertWrapperValue(wrapper);
  const inner = nameCheck("inner decodes", undefined, () => decodeInnerTx(wrapper.data));
  nameCheck("inner gas price", undefined, () => assertZeroGasPrice(inner));
  nameCheck("inner chain id", undefined, () => assertChainId(inner, chain.chainId));
  await assertPolicy(waiver, inner, chain);
  // Recovering costs most, so it comes after the cheap checks, as in D3.
  const sender = nameCheck("inner signature", undefined, () => recoverSender(inner, crypto));
  const valid = { wrapper, waiver, inner, sender };
  await assertAccounts(valid, chain, nonces);
  assertWrapperGas(wrapper, inner);
  return valid;
}

/**
 * Asserts once more, in the order of D7, the rules on a valid wrapper whose outcome the chain may have changed
 * (D8). Its bytes are the same, so nothing is decoded or recovered again.
 * @throws {@link ProtocolError} as {@link assertWrapper}.
 * @example
 * ```ts
 * const valid = await assertWrapper(hexToBytes(signedHex), chain, "gaps");
 * await reassertWrapper(valid, chain); // before it goes into a block
 * ```
 */
export async function reassertWrapper(
  valid: ValidWrapper,
  chain: ChainView,
  nonces: NonceRule = "exact",
): Promise<void> {
  await assertRegistered(valid.waiver, chain);
  await assertPolicy(valid.waiver, valid.inner, chain);
  await assertAccounts(valid, chain, nonces);
}

/** Asserts both nonces and the sender's balance (D7). */
async function assertAccounts(valid: ValidWrapper, chain: ChainView, nonces: NonceRule): Promise<void> {
  const { wrapper, waiver, inner, sender } = valid;
  await assertWrapperNonce(waiver, wrapper, chain, nonces);
  // D9: the wrapper uses its nonce first. That counts where the waiver is itself the sender of the InnerTx.
  const used = bytesEqual(sender, waiver) ? 1n : 0n;
  assertInnerNonce(sender, inner, (await chain.nonceOf(sender)) + used, nonces);
  await assertBalance(sender, inner, chain);
}

/**
 * Runs a check and names it in its error. `reason` replaces the decoder's own, which would be taken for a fault of the
 * InnerTx.
 */
function nameCheck<T>(check: string, reason: Reason | undefined, run: () => T): T {
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

/** Decodes a wrapper: to the marker, and legacy or of zero fees (docs/protocol.md#check-1-wrapper-decodes). */
function decodeWrapper(raw: Uint8Array): SignedTransaction {
  const wrapper = decodeTransaction(raw);
  if (!isWrapper(wrapper)) {
    const to = wrapper.to === undefined ? null : bytesToHex(wrapper.to);
    throw new ProtocolError(
      "WRAPPER_INVALID",
      `the transaction is no wrapper: it goes to ${to ?? "no address"}, not to the marker`,
      { to },
    );
  }
  if (wrapper.type !== "legacy") assertWrapperPrice(wrapper);
  return wrapper;
}

/** Recovers the waiver, and asserts that it signed for this chain (docs/protocol.md#check-2-wrapper-signature). */
function recoverWaiver(wrapper: SignedTransaction, chainId: bigint, crypto: Crypto): Uint8Array {
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
async function assertRegistered(waiver: Uint8Array, chain: ChainView): Promise<void> {
  if (await chain.isWaiver(waiver)) return;
  const address = bytesToHex(waiver);
  throw new ProtocolError("WAIVER_NOT_REGISTERED", `${address} is not a registered waiver`, {
    check: "waiver registered",
    waiver: address,
  });
}

/** Asserts docs/protocol.md#rule-2-gas-price-zero for the wrapper. */
function assertWrapperPrice(wrapper: SignedTransaction): void {
  const gasPrice = highestGasPrice(wrapper);
  if (gasPrice === 0n) return;
  throw new ProtocolError("WRAPPER_NON_ZERO_GAS_PRICE", `the wrapper's gas price is ${gasPrice} wei, not 0`, {
    check: "wrapper gas price",
    gasPrice: gasPrice.toString(),
  });
}

/** Asserts docs/protocol.md#rule-4-wrapper-value-zero. */
function assertWrapperValue(wrapper: SignedTransaction): void {
  if (wrapper.value === 0n) return;
  throw new ProtocolError("WRAPPER_NON_ZERO_VALUE", `the wrapper's value is ${wrapper.value} wei, not 0`, {
    check: "wrapper value",
    value: wrapper.value.toString(),
  });
}

/** Asserts docs/protocol.md#rule-3-target-and-selector. */
async function assertPolicy(waiver: Uint8Array, inner: InnerTx, chain: ChainView): Promise<void> {
  const check = "target and selector";
  // No policy permits contract creation or a wrapper inside a wrapper (D3).
  const to = nameCheck(check, undefined, () => assertCall(inner));
  const verdict = await chain.isAllowed(waiver, to, inner.data);
  const whose = `the policy of waiver ${bytesToHex(waiver)}`;
  nameCheck(check, undefined, () => assertVerdict(verdict, to, inner.data, whose));
}

/** Asserts docs/protocol.md#check-11-wrapper-nonce. */
async function assertWrapperNonce(
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

/** Asserts docs/protocol.md#check-12-inner-nonce. */
function assertInnerNonce(sender: Uint8Array, inner: InnerTx, expected: bigint, nonces: NonceRule): void {
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

/** Asserts that the sender's balance covers the inner value (docs/protocol.md#check-13-inner-value). */
async function assertBalance(sender: Uint8Array, inner: InnerTx, chain: ChainView): Promise<void> {
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
 * Asserts that the wrapper's gas limit covers the inner's plus its own intrinsic gas, and the inner's covers the
 * inner's own (docs/protocol.md#check-14-wrapper-gas-limit).
 */
function assertWrapperGas(wrapper: SignedTransaction, inner: InnerTx): void {
  const check = "wrapper gas limit";
  nameCheck(check, undefined, () => assertIntrinsicGas(inner));
  const needed = inner.gasLimit + intrinsicGas(wrapper);
  if (wrapper.gasLimit >= needed) return;
  throw new ProtocolError(
    "WRAPPER_GAS_LIMIT_TOO_LOW",
    `the wrapper's gas limit is ${wrapper.gasLimit}; the inner's ${inner.gasLimit} and its own intrinsic gas need ${needed}`,
    { check, gasLimit: wrapper.gasLimit.toString(), needed: needed.toString() },
  );
}
