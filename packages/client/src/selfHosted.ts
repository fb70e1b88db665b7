/**
 * For those who hold a waiver key and want no service: wrap what a user has signed, and send it to a node.
 * What the service does besides is then the caller's: the waiver's nonces, what to do after an unclear answer.
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

export { privateKeyAccount, type Signature, type WaiverAccount } from "@gas-waiver/protocol";
export { type BroadcastOptions, broadcast, NodeRefusedError } from "./broadcast.js";
export { ConnectionFailedError, MalformedAnswerError, WaiverClientError } from "./errors.js";

/**
 * The waiver that signs the wrapper: an account, wherever its key is kept; its private key (32 bytes); or a function
 * that signs a 32-byte hash, as those of viem and ethers do. Only an account names its address, so only for an account can
 * {@link wrap} refuse what another key has signed.
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

export interface WrapOptions {
  /** The waiver's nonce: the caller gives each wrapper its own, without gaps. */
  readonly nonce: number | bigint;
  /** What the user must have signed for. */
  readonly chainId: number | bigint;
  /** The gas for unwrapping and checking on top; what validators take by default. */
  readonly verificationGas?: bigint;
}

/**
 * Wraps a signed transaction of gas price 0 (0x hex) and signs the wrapper as the waiver.
 * Asserted are the rules that need no policy: chain, price, target, gas, the user's signature.
 * @returns the signed wrapper as 0x hex, for {@link broadcast}.
 * @throws ProtocolError of the protocol package, with the rule that fails; `WRAPPER_INVALID_SIGNATURE` where the
 * waiver's signature does not recover to its address (D33).
 */
export async function wrap(
  signedInnerTx: string,
  waiver: Waiver,
  { nonce, chainId, verificationGas }: WrapOptions,
): Promise<Hex> {
  const inner = parseInnerTx(signedInnerTx);
  assertWrappable(inner, BigInt(chainId));
  const gas = verificationGas === undefined ? {} : { verificationGas };
  const wrapper = wrapInnerTx(inner, { nonce: BigInt(nonce), ...gas });
  const hash = signingHash(wrapper);
  const signing = signingOf(waiver);
  const signature = await signing.sign(hash);
  const address = signing.address ?? recoverAddress(hash, signature);
  return bytesToHex(assembleWrapperTx(wrapper, signature, address).raw);
}

/**
 * The waiver account of a signer in hex, such as ethers' `SigningKey` or a function around viem's `sign`.
 * @param address the waiver's address, 0x hex of 20 bytes. What recovers to another address is not used (D33).
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

/** The hash of a signed transaction (0x hex): what its receipt is found by, the user's own or the wrapper's. */
export function hashOf(signed: string): Hex {
  return bytesToHex(crypto.keccak256(hexToBytes(signed)));
}

function assertWrappable(inner: InnerTx, chainId: bigint): void {
  assertChainId(inner, chainId);
  assertZeroGasPrice(inner);
  assertCall(inner);
  assertIntrinsicGas(inner);
  recoverSender(inner);
}

/** Signs as the waiver. The address is undefined for a signer in hex that does not tell it. */
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

/** 64 hex digits: some signers leave out leading zeros. */
function word(hex: string): string {
  return hex.replace(/^0x/, "").padStart(64, "0");
}
