/**
 * For those who hold a waiver key and want no service: wrap what a user has signed, and send it to a node.
 * What the service does besides is then the caller's: the waiver's nonces, what to do after an unclear answer.
 */
import {
  assertCall,
  assertChainId,
  assertIntrinsicGas,
  assertZeroGasPrice,
  bytesToHex,
  crypto,
  decodeTransaction,
  encodeTransaction,
  type Hex,
  hexToBytes,
  type InnerTx,
  parseInnerTx,
  recoverSender,
  type Signature,
  signingHash,
  wrapInnerTx,
} from "@gas-waiver/protocol";

export { type BroadcastOptions, broadcast, NodeRefusedError } from "./broadcast.js";
export { ConnectionFailedError, MalformedAnswerError, WaiverClientError } from "./WaiverClientError.js";

/** The waiver: its private key (32 bytes), or what signs a 32-byte hash with it, as viem and ethers do. */
export type Waiver =
  | { readonly privateKey: Hex | Uint8Array }
  | { sign(hash: Hex): HashSignature | Promise<HashSignature> };

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
 * @throws ProtocolError of the protocol package, with the rule that fails.
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
  const raw = encodeTransaction(wrapper, await signatureOf(waiver, signingHash(wrapper)));
  // What a signer outside returned may be no signature of this chain's kind.
  recoverSender(decodeTransaction(raw));
  return bytesToHex(raw);
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

async function signatureOf(waiver: Waiver, hash: Uint8Array): Promise<Signature> {
  if ("privateKey" in waiver) {
    const { privateKey } = waiver;
    return crypto.sign(hash, typeof privateKey === "string" ? hexToBytes(privateKey) : privateKey);
  }
  const { r, s, yParity } = await waiver.sign(bytesToHex(hash));
  const compact = hexToBytes(`0x${word(r)}${word(s)}`);
  return { compact, yParity: yParity === 0 ? 0 : 1 };
}

/** 64 hex digits: some signers leave out leading zeros. */
function word(hex: string): string {
  return hex.replace(/^0x/, "").padStart(64, "0");
}
