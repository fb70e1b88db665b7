import { crypto as defaultCrypto } from "../crypto/crypto.js";
import type { Crypto } from "../crypto/cryptoBackend.js";
import { bytesEqual } from "../encoding/hex.js";
import { assertChainId, assertZeroGasPrice, decodeInnerTx, type InnerTx } from "../transactions/InnerTx.js";
import { recoverSender, type SignedTransaction } from "../transactions/SignedTransaction.js";
import type { ChainView, NonceRule } from "./chainView.js";
import {
  assertBalance,
  assertInnerNonce,
  assertNoContract,
  assertPolicy,
  assertRegistered,
  assertWrapperGas,
  assertWrapperNonce,
  assertWrapperPrice,
  assertWrapperValue,
  decodeWrapper,
  nameCheck,
  recoverWaiver,
} from "./validatorChecks.js";

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
 * Asserts the validators' rules on the bytes of a transaction to the marker, in the order of D7. A refusal must
 * change no state and use no nonce.
 * @throws {@link ProtocolError} for the first check that fails; `values.check` is its name.
 * @example
 * ```ts
 * const { waiver, sender } = await assertWrapper(hexToBytes(signedHex), {
 *   chainId: CHAIN_IDS.testnet,
 *   verificationGas: 10_000n,
 *   isWaiver: () => true,
 *   isAllowed: (_waiver, to, data) => compilePolicy([{ address: "*" }]).check(to, data),
 *   nonceOf: () => 0n,
 *   codeOf: () => new Uint8Array(0),
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
  assertWrapperGas(wrapper, inner, chain.verificationGas);
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

/** Asserts both nonces, and the sender's code and balance (D7). */
async function assertAccounts(valid: ValidWrapper, chain: ChainView, nonces: NonceRule): Promise<void> {
  const { wrapper, waiver, inner, sender } = valid;
  await assertWrapperNonce(waiver, wrapper, chain, nonces);
  // D9: the wrapper uses its nonce first. That counts where the waiver is itself the sender of the InnerTx.
  const used = bytesEqual(sender, waiver) ? 1n : 0n;
  assertInnerNonce(sender, inner, (await chain.nonceOf(sender)) + used, nonces);
  const code = await chain.codeOf(sender);
  nameCheck("sender code", undefined, () => assertNoContract(sender, code));
  await assertBalance(sender, inner, chain);
}
