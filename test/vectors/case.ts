// The format of a case in the vector file, and functions that build cases.
import {
  type Account,
  type Accounts,
  accounts,
  contracts,
  MARKER,
  OTHER_USER,
  type Registry,
  registry,
  TOKEN,
  TRANSFER,
  USER,
  USER_NONCE,
  WAIVER,
  WAIVER_NONCE,
} from "./state.js";
import { addressOf, type Edit, type Fields, gasOf, type Signed, sign } from "./transaction.js";

export interface Log {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
}

/** The validators' treatment of the wrapper (D7, D9, D10). */
export type Expectation =
  | {
      readonly verdict: "refused";
      readonly check: string;
      readonly reason: string;
      readonly cause?: string;
    }
  | {
      readonly verdict: "included";
      readonly waiver: string;
      readonly sender: string;
      readonly wrapperHash: string;
      readonly innerHash: string;
      readonly status: 0 | 1;
      readonly wrapperGasUsed: string;
      readonly innerGasUsed: string;
      readonly logs: readonly Log[];
      readonly accounts: Accounts;
    };

/** The answer of a submission service with this waiver's policy to the InnerTx alone (D3). */
export type ServiceExpectation = { readonly transaction: string; readonly waiver: string } & (
  | { readonly verdict: "accepted"; readonly sender: string; readonly txHash: string }
  | { readonly verdict: "refused"; readonly code: string; readonly reason: string }
);

export interface VectorCase {
  readonly name: string;
  readonly clause: string;
  readonly chainId: number;
  readonly registry: Registry;
  readonly accounts: Accounts;
  readonly wrapper: string;
  readonly expect: Expectation;
  readonly service?: ServiceExpectation;
}

export const CHAIN_ID = 2201n;
/** The gas of the chain for unwrapping and verification (D7). */
export const VERIFICATION_GAS = 10_000n;

const word = (hex: string) => hex.replace("0x", "").padStart(64, "0");
export const transferData = (to: string, amount: bigint) => TRANSFER + word(to) + word(amount.toString(16));

const VALID_TRANSFER: Fields = {
  type: 0,
  chainId: CHAIN_ID,
  nonce: USER_NONCE,
  gasPrice: 0n,
  maxPriorityFeePerGas: 0n,
  maxFeePerGas: 0n,
  gasLimit: 100_000n,
  to: TOKEN,
  value: 0n,
  data: transferData(addressOf(OTHER_USER), 7n),
  accessList: [],
};

/** Differences from a transaction that keeps every rule. */
export type Changes = Partial<Fields> & { readonly signer?: number; readonly edit?: Edit };

/** Signs an InnerTx of the user: a transfer of 7 units of the test token to another user, with these changes. */
export function innerTx({ signer = USER, edit, ...fields }: Changes = {}): Signed {
  return sign({ ...VALID_TRANSFER, ...fields }, signer, edit);
}

/** Signs a wrapper of the waiver around some bytes. */
export function wrapperTx(data: string, { signer = WAIVER, edit, ...fields }: Changes = {}): Signed {
  const plain = { ...VALID_TRANSFER, nonce: WAIVER_NONCE, gasLimit: 1_000_000n, to: MARKER, data };
  return sign({ ...plain, ...fields }, signer, edit);
}

export interface Situation {
  readonly name: string;
  readonly clause: string;
  readonly registry?: Registry;
  readonly accounts?: Accounts;
  readonly inner?: Changes;
  /** The wrapper's data, instead of the signed inner. */
  readonly data?: string;
  readonly wrapper?: Changes;
}

function build(situation: Situation) {
  const signedInner = innerTx(situation.inner);
  const wrapper = wrapperTx(situation.data ?? signedInner.bytes, situation.wrapper);
  return {
    inner: signedInner,
    wrapper,
    base: {
      name: situation.name,
      clause: situation.clause,
      chainId: Number(CHAIN_ID),
      registry: situation.registry ?? registry(),
      accounts: situation.accounts ?? accounts(),
      wrapper: wrapper.bytes,
    },
  };
}

const PARSE_ERRORS = ["EMPTY_TRANSACTION", "MALFORMED_RLP", "NON_CANONICAL_RLP", "MALFORMED_TRANSACTION"];

function refusedByService(transaction: string, waiver: string, reason: string): ServiceExpectation {
  // D2: bytes that do not decode are PARSE_ERROR; a decoded transaction that breaks a rule is VALIDATION_FAILED.
  const code = PARSE_ERRORS.includes(reason) ? "PARSE_ERROR" : "VALIDATION_FAILED";
  return { transaction, waiver, verdict: "refused", code, reason };
}

function acceptedByService(
  { bytes, from, hash }: Signed,
  waiver: string,
  transaction = bytes,
): ServiceExpectation {
  return { transaction, waiver, verdict: "accepted", sender: from, txHash: hash };
}

/**
 * A case that the validators refuse, without an expectation of the service. The wrapper is at fault, or what is wrong with
 * the InnerTx depends on the chain.
 */
export function refused(situation: Situation, check: string, reason: string, cause?: string): VectorCase {
  return { ...build(situation).base, expect: { verdict: "refused", check, reason, ...(cause && { cause }) } };
}

/** A case that validators and service refuse, for the same reason unless `serviceReason` is given. */
export function refusedByBoth(
  situation: Situation,
  check: string,
  reason: string,
  serviceReason = reason,
): VectorCase {
  const { base, inner, wrapper } = build(situation);
  const service = refusedByService(situation.data ?? inner.bytes, wrapper.from, serviceReason);
  return { ...base, expect: { verdict: "refused", check, reason }, service };
}

/** A case that the validators refuse because of the chain's state, which the service's rules on an InnerTx ignore. */
export function refusedByChain(situation: Situation, check: string, reason: string): VectorCase {
  const { base, inner, wrapper } = build(situation);
  const service = acceptedByService(inner, wrapper.from);
  return { ...base, expect: { verdict: "refused", check, reason }, service };
}

export interface Effects {
  /** 1 by default. */
  readonly status?: 0 | 1;
  /** Gas of the execution beside that of the calldata. `gasUsed` gives the sum instead. */
  readonly execution?: bigint;
  readonly gasUsed?: bigint;
  readonly logs?: readonly Log[];
  /** The account that receives the value, if the value moves. */
  readonly paid?: string;
  /** The reason of the service, if it refuses a transaction that the chain accepts. */
  readonly serviceReason?: string;
}

/** A case that validators include: both nonces rise by one, nobody pays for gas, and the InnerTx has these effects. */
export function included(situation: Situation, effects: Effects = {}): VectorCase {
  const { base, inner, wrapper } = build(situation);
  const { status = 1, logs = [], paid, serviceReason } = effects;
  const expect: Expectation = {
    verdict: "included",
    waiver: wrapper.from,
    sender: inner.from,
    wrapperHash: wrapper.hash,
    innerHash: inner.hash,
    status,
    wrapperGasUsed: String(gasOf(wrapper.fields)),
    innerGasUsed: String(effects.gasUsed ?? gasOf(inner.fields, effects.execution)),
    logs,
    accounts: accountsAfter(base.accounts, wrapper.from, inner, paid),
  };
  const service =
    serviceReason === undefined
      ? acceptedByService(inner, wrapper.from, situation.data)
      : refusedByService(inner.bytes, wrapper.from, serviceReason);
  return { ...base, expect, service };
}

function accountsAfter(before: Accounts, waiver: string, inner: Signed, paid: string | undefined): Accounts {
  const after: Record<string, Account> = { ...before };
  const change = (address: string, nonces: bigint, wei: bigint) => {
    // The nonce of a new contract is 1 (EIP-161).
    const untouched = { nonce: address in contracts ? "1" : "0", balance: "0" };
    const { nonce, balance, ...code } = after[address] ?? untouched;
    after[address] = {
      ...code,
      nonce: String(BigInt(nonce) + nonces),
      balance: String(BigInt(balance) + wei),
    };
  };
  change(waiver, 1n, 0n);
  change(inner.from, 1n, 0n);
  if (paid !== undefined) {
    change(inner.from, 0n, -inner.fields.value);
    change(paid, 0n, inner.fields.value);
  }
  return after;
}
