import { privateKeyToAddress } from "../../src/accounts/address.js";
import { hexToBytes } from "../../src/encoding/hex.js";
import { ProtocolError } from "../../src/protocolError.js";
import {
  type SignedTransaction,
  signTransaction,
  type UnsignedTransaction,
} from "../../src/transactions/SignedTransaction.js";

export const USER_KEY = new Uint8Array(32).fill(1);
export const WAIVER_KEY = new Uint8Array(32).fill(2);
export const USER = privateKeyToAddress(USER_KEY);
export const WAIVER = privateKeyToAddress(WAIVER_KEY);
export const TOKEN = hexToBytes("0x78cf24370174180738c5b8e352b6d14c83a6c9a9");
export const CHAIN_ID = 2201n;

/** `transfer(address,uint256)` to 0x44…44 of 1. */
export const TRANSFER = hexToBytes(`0xa9059cbb${"0".repeat(24)}${"44".repeat(20)}${"0".repeat(63)}1`);
export const TRANSFER_SELECTOR = TRANSFER.subarray(0, 4);

type Legacy = Extract<UnsignedTransaction, { type: "legacy" }>;
type Eip2930 = Extract<UnsignedTransaction, { type: "eip2930" }>;
type Eip1559 = Extract<UnsignedTransaction, { type: "eip1559" }>;

const call = { nonce: 0n, gasLimit: 100_000n, to: TOKEN, value: 0n, data: TRANSFER };

/** A gas-waived transfer that keeps every rule, but for the given fields. */
export function legacy(fields: Partial<Legacy> = {}): Legacy {
  return { type: "legacy", chainId: CHAIN_ID, gasPrice: 0n, ...call, ...fields };
}

export function eip2930(fields: Partial<Eip2930> = {}): Eip2930 {
  return { type: "eip2930", chainId: CHAIN_ID, gasPrice: 0n, accessList: [], ...call, ...fields };
}

export function eip1559(fields: Partial<Eip1559> = {}): Eip1559 {
  return {
    type: "eip1559",
    chainId: CHAIN_ID,
    maxPriorityFeePerGas: 0n,
    maxFeePerGas: 0n,
    accessList: [],
    ...call,
    ...fields,
  };
}

export function byUser(tx: UnsignedTransaction): SignedTransaction {
  return signTransaction(tx, USER_KEY);
}

function refusedBy(thrown: unknown): ProtocolError {
  if (thrown instanceof ProtocolError) return thrown;
  throw new Error(`expected a ProtocolError, got ${thrown}`, { cause: thrown });
}

/** Returns the ProtocolError that a call throws. The test fails if it throws nothing or anything else. */
export function refusal(run: () => unknown): ProtocolError {
  let thrown: unknown;
  try {
    run();
  } catch (error) {
    thrown = error;
  }
  return refusedBy(thrown);
}

/** Returns the ProtocolError that a promise rejects with. The test fails if it does not. */
export async function refusalOf(pending: Promise<unknown>): Promise<ProtocolError> {
  const thrown: unknown = await pending.then(
    () => undefined,
    (error: unknown) => error,
  );
  return refusedBy(thrown);
}
