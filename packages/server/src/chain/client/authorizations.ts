import {
  assertCanonicalSignature,
  bigIntToBytes,
  concatBytes,
  crypto,
  encodeRlp,
  type Hex,
  hexToBytes,
  ProtocolError,
  recoverAddress,
} from "@gas-waiver/protocol";
import { isObject } from "../rpc/rpcOutcome.js";

/** An EIP-7702 authorization in a transaction. It uses a nonce of its signer, whoever sends the transaction. */
export interface Authorization {
  /** 0 for any chain. */
  readonly chainId: bigint;
  /** 20 bytes: the contract to which the signer delegates. */
  readonly address: Uint8Array;
  readonly nonce: bigint;
  readonly yParity: bigint;
  readonly r: bigint;
  readonly s: bigint;
}

/** The first byte of the text that is signed. */
const MAGIC = Uint8Array.of(5);

/**
 * Reads the authorizations of a transaction from a node's answer, without those for another chain than the
 * transaction's. One that cannot be read is left out: it is evidence only where it is clear.
 */
export function authorizationsOf({ chainId, authorizationList }: Record<string, unknown>): Authorization[] {
  if (!Array.isArray(authorizationList)) return [];
  const own = numberOf(chainId);
  return authorizationList
    .map(authorizationOf)
    .filter((one) => one !== undefined)
    .filter((one) => one.chainId === 0n || one.chainId === own);
}

function authorizationOf(value: unknown): Authorization | undefined {
  if (!isObject(value)) return undefined;
  const { address } = value;
  const [chainId, nonce, r, s] = [value.chainId, value.nonce, value.r, value.s].map(numberOf);
  // Some nodes name the parity by its older name.
  const yParity = numberOf(value.yParity ?? value.v);
  if (typeof address !== "string" || !/^0x[0-9a-f]{40}$/i.test(address)) return undefined;
  if (chainId === undefined || nonce === undefined || yParity === undefined) return undefined;
  if (r === undefined || s === undefined) return undefined;
  return { chainId, address: hexToBytes(address as Hex), nonce, yParity, r, s };
}

function numberOf(value: unknown): bigint | undefined {
  return typeof value === "string" && /^0x[0-9a-f]{1,64}$/i.test(value) ? BigInt(value) : undefined;
}

/** Recovers the signer's address (20 bytes); undefined if the signature is not valid. */
export function authorityOf({
  chainId,
  address,
  nonce,
  yParity,
  r,
  s,
}: Authorization): Uint8Array | undefined {
  if (yParity !== 0n && yParity !== 1n) return undefined;
  const signed = encodeRlp([bigIntToBytes(chainId), address, bigIntToBytes(nonce)]);
  const signature = { compact: concatBytes(word(r), word(s)), yParity: yParity === 0n ? 0 : 1 } as const;
  try {
    assertCanonicalSignature(signature);
    return recoverAddress(crypto.keccak256(concatBytes(MAGIC, signed)), signature);
  } catch (error) {
    if (error instanceof ProtocolError) return undefined;
    throw error;
  }
}

function word(value: bigint): Uint8Array {
  return hexToBytes(`0x${value.toString(16).padStart(64, "0")}`);
}
