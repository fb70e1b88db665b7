import {
  bytesToHex,
  crypto,
  type Hex,
  hexToBytes,
  privateKeyToAddress,
  signTransaction,
  type UnsignedTransaction,
  type WaiverAccount,
} from "@gas-waiver/protocol";
import { privateKeyWaiver } from "../../src/signing/privateKeyWaiver.js";
import { CHAIN_ID } from "./modelChain.js";

// The keys and transactions of the tests.

export const WAIVER_KEY = new Uint8Array(32).fill(0x77);
export const WAIVER = bytesToHex(privateKeyToAddress(WAIVER_KEY));
/** The private key of a second waiver. */
export const SECOND_KEY = new Uint8Array(32).fill(0x78);
export const SECOND_WAIVER = bytesToHex(privateKeyToAddress(SECOND_KEY));

/** The accounts of waivers whose private keys the service has. */
export function accountsOf(...keys: Uint8Array[]): WaiverAccount[] {
  return keys.map((key) => privateKeyWaiver(key));
}

/** The one contract that the waiver may call, by the selectors of `transfer` and `approve`. */
export const TOKEN = hexToBytes("0x78cf24370174180738c5b8e352b6d14c83a6c9a9");
export const TRANSFER = hexToBytes("0xa9059cbb");
export const APPROVE = hexToBytes("0x095ea7b3");

/** The private key of a user. Users are numbered from 1. */
export function userKey(user: number): Uint8Array {
  return crypto.keccak256(Uint8Array.of(0x55, user >> 8, user & 0xff));
}

export function userAddress(user: number): Hex {
  return bytesToHex(privateKeyToAddress(userKey(user)));
}

export type Changes = Partial<Extract<UnsignedTransaction, { type: "legacy" }>>;

/** The signed InnerTx of a user: a token transfer that keeps every rule, unless `changes` break one. */
export function innerOf(user: number, nonce: number | bigint = 0, changes: Changes = {}): Hex {
  const tx = {
    type: "legacy",
    chainId: BigInt(CHAIN_ID),
    nonce: BigInt(nonce),
    gasPrice: 0n,
    gasLimit: 100_000n,
    to: TOKEN,
    value: 0n,
    data: TRANSFER,
    ...changes,
  } as const;
  return bytesToHex(signTransaction(tx, userKey(user)).raw);
}

/** The signed EIP-1559 envelope of a user's transfer, with both fees 0. */
export function typedInnerOf(user: number, nonce: number | bigint = 0): Uint8Array {
  const tx = {
    type: "eip1559",
    chainId: BigInt(CHAIN_ID),
    nonce: BigInt(nonce),
    maxPriorityFeePerGas: 0n,
    maxFeePerGas: 0n,
    gasLimit: 100_000n,
    to: TOKEN,
    value: 0n,
    data: TRANSFER,
    accessList: [],
  } as const;
  return signTransaction(tx, userKey(user)).raw;
}

/** The hash by which a client knows a transaction (D6). */
export function hashOf(raw: Hex): Hex {
  return bytesToHex(crypto.keccak256(hexToBytes(raw)));
}
