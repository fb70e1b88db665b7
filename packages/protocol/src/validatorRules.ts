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

/** What the validators' rules read of the chain. Addresses are 20 bytes. */
export interface ChainView {
  readonly chainId: bigint;
  isWaiver(address: Uint8Array): MaybePromise<boolean>;
  /** The verdict of the waiver's AllowedTarget policy (D4). */
  isAllowed(waiver: Uint8Array, to: Uint8Array, data: Uint8Array): MaybePromise<Verdict>;
  /** The next nonce of an account. */
  nonceOf(address: Uint8Array): MaybePromise<bigint>;
  /** In wei. */
  balanceOf(address: Uint8Array): MaybePromise<bigint>;
}

/**
 * `exact`: a nonce must be the account's next (a strict pool, and every block). `gaps`: one further ahead may
 * wait (a queueing pool).
 */
export type NonceRule = "exact" | "gaps";

/** A wrapper that keeps every rule. */
export interface ValidWrapper {
  readonly wrapper: SignedTransaction;
  /** 20 bytes: who signed the wrapper. */
  readonly waiver: Uint8Array;
  readonly inner: InnerTx;
  /** 20 bytes: who signed the inner. */
  readonly sender: Uint8Array;
}

/** "A transaction is a waiver wrapper transaction if and only if its `to` equals the marker address." */
export function isWrapper(tx: { readonly to: Uint8Array | undefined }): boolean {
  return tx.to !== undefined && bytesEqual(tx.to, MARKER_ADDRESS);
}

/**
 * Asserts the validators' rules on the bytes of a transaction to the marker, in the order of D7.
 * A refusal must change no state and use no nonce.
 * @throws {@link ProtocolError} for the first check that fails; `values.check` is its name.
 */
export async function assertWrapper(
  raw: Uint8Array,
  chain: ChainView,
  nonces: NonceRule = "exact",
  crypto: Crypto = defaultCrypto,
): Promise<ValidWrapper> {
  const wrapper = checked("wrapper decodes", "WRAPPER_INVALID", () => decodeWrapper(raw));
  const waiver = checked("wrapper signature", "WRAPPER_INVALID_SIGNATURE", () =>
    recoverWaiver(wrapper, chain.chainId, crypto),
  );
  await assertRegistered(waiver, chain);
  assertWrapperPrice(wrapper);
  assertWrapperValue(wrapper);
  const inner = checked("inner decodes", undefined, () => decodeInnerTx(wrapper.data));
  checked("inner gas price", undefined, () => assertZeroGasPrice(inner));
  checked("inner chain id", undefined, () => assertChainId(inner, chain.chainId));
  await assertPolicy(waiver, inner, chain);
  // As in D3, after the cheap checks.
  const sender = checked("inner signature", undefined, () => recoverSender(inner, crypto));
  const valid = { wrapper, waiver, inner, sender };
  await assertAccounts(valid, chain, nonces);
  assertWrapperGas(wrapper, inner);
  return valid;
}

/**
 * Asserts once more, in the order of D7, what the chain may have changed about a wrapper that has kept every rule
 * before (D8). What its bytes say stays as it was, so nothing is decoded or recovered again.
 * @throws {@link ProtocolError} as {@link assertWrapper}.
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

/** D7: both nonces, and the sender's balance. */
async function assertAccounts(valid: ValidWrapper, chain: ChainView, nonces: NonceRule): Promise<void> {
  const { wrapper, waiver, inner, sender } = valid;
  await assertWrapperNonce(waiver, wrapper, chain, nonces);
  // D9: the wrapper uses its nonce first, which counts where a waiver sends a transaction of its own.
  const used = bytesEqual(sender, waiver) ? 1n : 0n;
  assertInnerNonce(sender, inner, (await chain.nonceOf(sender)) + used, nonces);
  await assertBalance(sender, inner, chain);
}

/** Names the check in the error; `reason` replaces the decoder's own where it would be taken for the inner's. */
function checked<T>(check: string, reason: Reason | undefined, run: () => T): T {
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

/** D7: the wrapper decodes (and is one), and is legacy or has zero fees. */
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

/** D7: the signature. It must name this chain, or it would be another chain's wrapper. */
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

/** "WrapperTx.from is a waiver registered on-chain." (section 5, rule 1) */
async function assertRegistered(waiver: Uint8Array, chain: ChainView): Promise<void> {
  if (await chain.isWaiver(waiver)) return;
  const address = bytesToHex(waiver);
  throw new ProtocolError("WAIVER_NOT_REGISTERED", `${address} is not a registered waiver`, {
    check: "waiver registered",
    waiver: address,
  });
}

/** "WrapperTx.gasPrice equals 0" (section 5, rule 2) */
function assertWrapperPrice(wrapper: SignedTransaction): void {
  const gasPrice = highestGasPrice(wrapper);
  if (gasPrice === 0n) return;
  throw new ProtocolError("WRAPPER_NON_ZERO_GAS_PRICE", `the wrapper's gas price is ${gasPrice} wei, not 0`, {
    check: "wrapper gas price",
    gasPrice: gasPrice.toString(),
  });
}

/** "WrapperTx.value equals 0." (section 5, rule 4) */
function assertWrapperValue(wrapper: SignedTransaction): void {
  if (wrapper.value === 0n) return;
  throw new ProtocolError("WRAPPER_NON_ZERO_VALUE", `the wrapper's value is ${wrapper.value} wei, not 0`, {
    check: "wrapper value",
    value: wrapper.value.toString(),
  });
}

/** "InnerTx.to and the method selector taken from InnerTx.data are permitted" (section 5, rule 3) */
async function assertPolicy(waiver: Uint8Array, inner: InnerTx, chain: ChainView): Promise<void> {
  const check = "target and selector";
  // No policy permits what is no call to a contract: creation, or a wrapper inside a wrapper (D3).
  const to = checked(check, undefined, () => assertCall(inner));
  const verdict = await chain.isAllowed(waiver, to, inner.data);
  const whose = `the policy of waiver ${bytesToHex(waiver)}`;
  checked(check, undefined, () => assertVerdict(verdict, to, inner.data, whose));
}

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

/** D7: the sender's balance covers `inner.value`. */
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

/** D7: the wrapper's gas limit covers the inner's plus its own intrinsic gas; the inner's covers the inner's own. */
function assertWrapperGas(wrapper: SignedTransaction, inner: InnerTx): void {
  const check = "wrapper gas limit";
  checked(check, undefined, () => assertIntrinsicGas(inner));
  const needed = inner.gasLimit + intrinsicGas(wrapper);
  if (wrapper.gasLimit >= needed) return;
  throw new ProtocolError(
    "WRAPPER_GAS_LIMIT_TOO_LOW",
    `the wrapper's gas limit is ${wrapper.gasLimit}; the inner's ${inner.gasLimit} and its own intrinsic gas need ${needed}`,
    { check, gasLimit: wrapper.gasLimit.toString(), needed: needed.toString() },
  );
}
