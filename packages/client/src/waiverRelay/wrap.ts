import {
  assembleWrapperTx,
  assertCall,
  assertChainId,
  assertIntrinsicGas,
  assertZeroGasPrice,
  bytesToHex,
  crypto,
  type Hex,
  hexToBytes,
  type InnerEncoding,
  type InnerTx,
  parseInnerTx,
  recoverAddress,
  recoverSender,
  signingHash,
  wrapInnerTx,
} from "@gas-waiver/protocol";
import { type Signing, signingOf, type Waiver } from "./accounts.js";

/** Options of {@link wrap}. */
export interface WrapOptions {
  /** The waiver's nonce. Give each wrapper its own, without gaps. */
  readonly nonce: number | bigint;
  /** The chain that the user must have signed for. */
  readonly chainId: number | bigint;
  /** The gas for unwrapping and verification on top, in gas; 50,000 by default, as validators take. */
  readonly verificationGas?: bigint;
  /**
   * The form of a typed InnerTx in the wrapper's data: the signed `envelope`, the default, or an `rlp` string around it.
   * Validators read both.
   */
  readonly innerEncoding?: InnerEncoding;
}

/**
 * Wraps a signed transaction of gas price 0 and has the waiver sign the wrapper. It asserts the rules that need no
 * policy: chain, price, target, gas, the user's signature.
 * @param signedInnerTx the user's signed bytes as 0x hex.
 * @returns the signed wrapper as 0x hex, for {@link broadcast}.
 * @throws ProtocolError of the protocol package, with the rule that fails; `WRAPPER_INVALID_SIGNATURE` where the
 * waiver's signature does not recover to its address (D33).
 * @example
 * ```ts
 * import { broadcast, privateKeyAccount, wrap } from "@gas-waiver/client/self-hosted";
 *
 * const waiver = privateKeyAccount(privateKey);
 * const wrapper = await wrap(signedTransaction, waiver, { nonce: 7, chainId: 2201 });
 * await broadcast("http://127.0.0.1:8545", wrapper);
 * ```
 */
export async function wrap(
  signedInnerTx: string,
  waiver: Waiver,
  { nonce, chainId, verificationGas, innerEncoding = "envelope" }: WrapOptions,
): Promise<Hex> {
  const inner = parseInnerTx(signedInnerTx);
  assertWrappable(inner, BigInt(chainId));
  const gas = verificationGas === undefined ? {} : { verificationGas };
  return await wrapInner(inner, signingOf(waiver), { nonce: BigInt(nonce), ...gas, innerEncoding });
}

/** Wraps a transaction that has been checked. */
export async function wrapInner(
  inner: InnerTx,
  signing: Signing,
  options: Parameters<typeof wrapInnerTx>[1],
): Promise<Hex> {
  const wrapper = wrapInnerTx(inner, options);
  const hash = signingHash(wrapper);
  const signature = await signing.sign(hash);
  const address = signing.address ?? recoverAddress(hash, signature);
  return bytesToHex(assembleWrapperTx(wrapper, signature, address).raw);
}

/**
 * Returns the hash of a signed transaction: the user's own, or the wrapper's. Receipts are found by either.
 * @param signed the signed bytes as 0x hex.
 * @returns 32 bytes as 0x hex.
 * @example
 * ```ts
 * console.log("look for the receipt of", hashOf(signedTransaction));
 * ```
 */
export function hashOf(signed: string): Hex {
  return bytesToHex(crypto.keccak256(hexToBytes(signed)));
}

/**
 * Returns the address that signed a transaction, for the `sender` check of `submit`. A changed byte seldom makes a signed
 * transaction invalid: it recovers to another address.
 * @param signed the signed bytes as 0x hex.
 * @throws ProtocolError where the bytes are no transaction, or no key can have made the signature.
 * @example
 * ```ts
 * const sender = { address: expectedAddress, recover: senderOf };
 * for await (const line of client.submit([signedTransaction], { sender })) console.log(line.id);
 * ```
 */
export function senderOf(signed: string): Hex {
  return bytesToHex(recoverSender(parseInnerTx(signed)));
}

function assertWrappable(inner: InnerTx, chainId: bigint): void {
  assertChainId(inner, chainId);
  assertZeroGasPrice(inner);
  assertCall(inner);
  assertIntrinsicGas(inner);
  recoverSender(inner);
}
