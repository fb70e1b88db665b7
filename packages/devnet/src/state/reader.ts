import type { Hex } from "@gas-waiver/protocol";

/** keccak256 of no bytes: the code hash of an account without code. */
export const EMPTY_CODE_HASH: Hex = "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470";

/** An account in the state. A change makes a new record. */
export interface AccountRecord {
  readonly nonce: bigint;
  readonly balance: bigint;
  readonly codeHash: Hex;
}

/** The record of an address that has never been used. */
export const EMPTY_ACCOUNT: AccountRecord = { nonce: 0n, balance: 0n, codeHash: EMPTY_CODE_HASH };

/**
 * Reads one state synchronously. Addresses, slots and code hashes are lower-case 0x hex of 20, 32 and 32 bytes.
 * Slot values have no leading zeros; an unset slot is empty.
 */
export interface StateReader {
  account(address: Hex): AccountRecord | undefined;
  slot(address: Hex, slot: Hex): Uint8Array;
  code(codeHash: Hex): Uint8Array;
}

export const NO_BYTES = new Uint8Array(0);
