import {
  bytesToHex,
  type Hex,
  hexToBytes,
  privateKeyAccount,
  type Signature,
  type WaiverAccount,
} from "@gas-waiver/protocol";
import { InvalidArgumentError } from "../errors.js";

/**
 * The waiver that signs the wrapper: an account, wherever its key is kept; its private key (32 bytes); an account of viem; or a
 * function that signs a 32-byte hash, like ethers' `SigningKey`. Such a function does not tell its address, so
 * {@link wrap} cannot refuse a signature of another key; make an account of it with {@link hashSignerAccount}.
 */
export type Waiver = KeyHolder | HashSigner;

/** Somebody who signs and whose address is known: a waiver, or a user for whom a relay signs. */
export type KeyHolder = WaiverAccount | { readonly privateKey: Hex | Uint8Array } | HexAccount;

/** An account of viem, as `privateKeyToAccount` returns it, or whatever signs a hash in the same way. */
export interface HexAccount {
  /** 0x hex of 20 bytes. */
  readonly address: Hex;
  /** Signs 32 bytes as they are, without a prefix. @returns r, s and v as 65 bytes of 0x hex. */
  readonly sign?: ((parameters: { readonly hash: Hex }) => Promise<Hex>) | undefined;
}

/** A signer in hex, as ethers' `SigningKey` is. {@link hashSignerAccount} makes an account of one. */
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

/** A signer of any kind. The address is undefined for a signer in hex, which does not tell it. */
export type Signing = Pick<WaiverAccount, "sign"> & { readonly address: Uint8Array | undefined };

export function signingOf(waiver: Waiver): Signing {
  if ("privateKey" in waiver || waiver.address !== undefined) return accountOf(waiver);
  return { address: undefined, sign: async (hash) => fromHexSignature(await waiver.sign(bytesToHex(hash))) };
}

/**
 * Returns somebody who signs as an account.
 * @throws InvalidArgumentError for an account of viem that cannot sign a hash, such as a wallet's.
 */
export function accountOf(holder: KeyHolder): WaiverAccount {
  if ("privateKey" in holder) {
    const { privateKey } = holder;
    return privateKeyAccount(typeof privateKey === "string" ? hexToBytes(privateKey) : privateKey);
  }
  if (!isHexAccount(holder)) return holder;
  const { address, sign } = holder;
  if (sign === undefined)
    throw new InvalidArgumentError(`the account ${address} signs no hashes: use one that holds its key`);
  return {
    address: hexToBytes(address),
    sign: async (hash) => fromCompactHex(await sign({ hash: bytesToHex(hash) })),
  };
}

function isHexAccount(holder: WaiverAccount | HexAccount): holder is HexAccount {
  return typeof holder.address === "string";
}

/** Reads r, s and v in one string; `v` is 27 or 28, or the parity. */
function fromCompactHex(signature: Hex): Signature {
  const bytes = hexToBytes(signature);
  return { compact: bytes.subarray(0, 64), yParity: bytes[64] === 0 || bytes[64] === 27 ? 0 : 1 };
}

function fromHexSignature({ r, s, yParity }: HashSignature): Signature {
  return { compact: hexToBytes(`0x${word(r)}${word(s)}`), yParity: yParity === 0 ? 0 : 1 };
}

/** Writes a hex number as 64 digits. Some signers leave out leading zeros. */
function word(hex: string): string {
  return hex.replace(/^0x/, "").padStart(64, "0");
}
