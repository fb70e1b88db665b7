/**
 * Wraps users' transactions and sends them to a node, without a service, for those who hold a waiver. The rest of the
 * service's work is then the caller's: the waiver's nonces, and what to do after an unclear answer.
 */
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
  privateKeyAccount,
  recoverAddress,
  recoverSender,
  type Signature,
  signingHash,
  type WaiverAccount,
  wrapInnerTx,
} from "@gas-waiver/protocol";

export {
  type InnerEncoding,
  privateKeyAccount,
  type Signature,
  type WaiverAccount,
} from "@gas-waiver/protocol";
export { type BroadcastOptions, broadcast, NodeRefusedError } from "./broadcast.js";
export { ConnectionFailedError, MalformedAnswerError, WaiverClientError } from "./errors.js";

/**
 * The waiver that signs the wrapper: an account, wherever its key is kept; its private key (32 bytes); or a
 * function that signs a 32-byte hash, like those of viem and ethers. Such a function does not tell its address, so
 * {@link wrap} cannot refuse a signature of another key; make an account of it with {@link hashSignerAccount}.
 */
export type Waiver = WaiverAccount | { readonly privateKey: Hex | Uint8Array } | HashSigner;

/** A signer in hex, as viem's `sign` and ethers' `SigningKey` are. {@link hashSignerAccount} makes an account of one. */
export interface HashSigner {
  readonly address?: never;
  sign(hash: Hex): HashSignature | Promise<HashSignature>;
}

/** A signature in hex. */
export interface HashSignature {
  /** 32 bytes each, as 0x hex; `s` in the lower half of the curve's order (EIP-2). */
  readonly r: string;
  readonly s: string;
  /** 0 or 1. */
  readonly yParity: number;
}

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
  const wrapper = wrapInnerTx(inner, { nonce: BigInt(nonce), ...gas, innerEncoding });
  const hash = signingHash(wrapper);
  const signing = signingOf(waiver);
  const signature = await signing.sign(hash);
  const address = signing.address ?? recoverAddress(hash, signature);
  return bytesToHex(assembleWrapperTx(wrapper, signature, address).raw);
}

/**
 * Makes a waiver account of a signer in hex, such as ethers' `SigningKey` or a function around viem's `sign`.
 * @param address the waiver's address, 0x hex of 20 bytes. A signature that recovers to another address is not
 * used (D33).
 * @example
 * ```ts
 * import { SigningKey } from "ethers";
 *
 * const key = new SigningKey(privateKey);
 * const waiver = hashSignerAccount(waiverAddress, (hash) => key.sign(hash));
 * ```
 */
export function hashSignerAccount(address: Hex, sign: HashSigner["sign"]): WaiverAccount {
  return {
    address: hexToBytes(address),
    sign: async (hash) => fromHexSignature(await sign(bytesToHex(hash))),
  };
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

/** A waiver of any kind. The address is undefined for a signer in hex, which does not tell it. */
type Signing = Pick<WaiverAccount, "sign"> & { readonly address: Uint8Array | undefined };

function signingOf(waiver: Waiver): Signing {
  if ("privateKey" in waiver) {
    const { privateKey } = waiver;
    return privateKeyAccount(typeof privateKey === "string" ? hexToBytes(privateKey) : privateKey);
  }
  if (waiver.address !== undefined) return waiver;
  return { address: undefined, sign: async (hash) => fromHexSignature(await waiver.sign(bytesToHex(hash))) };
}

function fromHexSignature({ r, s, yParity }: HashSignature): Signature {
  return { compact: hexToBytes(`0x${word(r)}${word(s)}`), yParity: yParity === 0 ? 0 : 1 };
}

/** Writes a hex number as 64 digits. Some signers leave out leading zeros. */
function word(hex: string): string {
  return hex.replace(/^0x/, "").padStart(64, "0");
}
