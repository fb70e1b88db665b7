import { getCalldataFloorGas, type TypedTransaction } from "@ethereumjs/tx";
import {
  assertWrapper,
  bytesToHex,
  type ChainView,
  type Hex,
  intrinsicGas,
  type NonceRule,
  reassertWrapper,
  type ValidWrapper,
} from "@gas-waiver/protocol";
import {
  type ChainTransaction,
  chainTransaction,
  decodeForEvm,
  decodeOrdinary,
  goesToMarker,
} from "../block/transaction.js";
import { DEVNET_CHAIN_ID } from "../presets/constants.js";
import { policyVerdict, policyVersion } from "../registry/policy.js";
import { EMPTY_CODE_HASH, type StateReader } from "../state/reader.js";
import { RefusedError } from "./refusedError.js";

/** Large enough for a proposal with 2,000 targets. Geth's limit of 128 KiB is too small for that. */
const MAX_TRANSACTION_BYTES = 1_048_576;

/** The rules of admission that do not depend on the state. */
export interface AdmissionRules {
  /** The price floor in wei (D11). */
  readonly minGasPrice: bigint;
  /** The gas limit of a block. */
  readonly blockGasLimit: bigint;
  /** The gas for unwrapping and verification that a wrapper's gas limit must cover (D7). */
  readonly verificationGas: bigint;
}

interface EntryFields {
  readonly tx: ChainTransaction;
  /** The account whose nonce orders the entry: the sender, or the waiver of a wrapper. */
  readonly signer: Hex;
  readonly nonce: bigint;
  /** The most gas that the entry can use in a block. */
  readonly gasLimit: bigint;
}

export interface OrdinaryEntry extends EntryFields {
  readonly kind: "ordinary";
  readonly evm: TypedTransaction;
  /** True for an unsigned transaction that the node sends for an impersonated account. */
  readonly impersonated: boolean;
}

export interface WrapperEntry extends EntryFields {
  readonly kind: "wrapper";
  readonly inner: ChainTransaction;
  readonly innerEvm: TypedTransaction;
  readonly innerNonce: bigint;
  /** The wrapper's intrinsic gas, which its receipt shows as used (D10). */
  readonly overheadGas: bigint;
  /** The decoded wrapper with its recovered signers, for the second check when the block is built (D8). */
  readonly valid: ValidWrapper;
}

/** An admitted transaction that waits for a block. */
export type PoolEntry = OrdinaryEntry | WrapperEntry;

/**
 * Checks signed bytes against a state: by D7 for a wrapper, by D11 and Ethereum's own rules for any other.
 * @throws ProtocolError or {@link RefusedError} for the first check that fails.
 */
export async function admit(
  raw: Uint8Array,
  state: StateReader,
  nonces: NonceRule,
  rules: AdmissionRules,
): Promise<PoolEntry> {
  if (raw.length > MAX_TRANSACTION_BYTES) {
    throw new RefusedError(
      "TRANSACTION_TOO_LARGE",
      `oversized data: the transaction has ${raw.length} bytes, at most ${MAX_TRANSACTION_BYTES} are taken`,
      { bytes: raw.length, maxBytes: MAX_TRANSACTION_BYTES },
    );
  }
  return goesToMarker(raw)
    ? admitWrapper(raw, state, nonces, rules)
    : admitOrdinary(raw, state, nonces, rules);
}

/** Repeats the checks on the state in which the transaction is about to run (D8). */
export async function recheck(entry: PoolEntry, state: StateReader, rules: AdmissionRules): Promise<void> {
  if (entry.kind === "wrapper") {
    await reassertWrapper(entry.valid, chainView(state, rules));
  } else assertCanRun(entry, state, "exact", rules);
}

async function admitWrapper(
  raw: Uint8Array,
  state: StateReader,
  nonces: NonceRule,
  rules: AdmissionRules,
): Promise<WrapperEntry> {
  const valid = await assertWrapper(raw, chainView(state, rules), nonces);
  const { wrapper, waiver, inner, sender } = valid;
  assertFitsBlock(wrapper.gasLimit, rules);
  const innerTx = chainTransaction(inner.raw, sender);
  return {
    kind: "wrapper",
    tx: chainTransaction(raw, waiver),
    signer: bytesToHex(waiver),
    nonce: wrapper.nonce,
    gasLimit: wrapper.gasLimit,
    inner: innerTx,
    innerEvm: decodeForEvm(inner.raw, innerTx.sender),
    innerNonce: inner.nonce,
    overheadGas: intrinsicGas(wrapper),
    valid,
  };
}

function admitOrdinary(
  raw: Uint8Array,
  state: StateReader,
  nonces: NonceRule,
  rules: AdmissionRules,
): OrdinaryEntry {
  return admitFrom(decodeOrdinary(raw), false, state, nonces, rules);
}

/**
 * Like {@link admit}, for a transaction without a signature of its sender.
 * @param tx must not go to the marker, because the signature of a wrapper names its waiver.
 */
export function admitImpersonated(
  tx: ChainTransaction,
  state: StateReader,
  nonces: NonceRule,
  rules: AdmissionRules,
): OrdinaryEntry {
  return admitFrom(tx, true, state, nonces, rules);
}

function admitFrom(
  tx: ChainTransaction,
  impersonated: boolean,
  state: StateReader,
  nonces: NonceRule,
  rules: AdmissionRules,
): OrdinaryEntry {
  const evm = decodeForEvm(tx.raw, tx.sender);
  const entry: OrdinaryEntry = {
    kind: "ordinary",
    tx,
    signer: tx.sender,
    nonce: evm.nonce,
    gasLimit: evm.gasLimit,
    evm,
    impersonated,
  };
  assertMinGasPrice(evm, rules);
  assertFitsBlock(evm.gasLimit, rules);
  assertLeastGas(evm);
  assertCanRun(entry, state, nonces, rules);
  return entry;
}

/** Ordinary transactions pay at least `minGasPrice` (D11). The header's base fee is 0. */
function assertMinGasPrice(evm: TypedTransaction, { minGasPrice }: AdmissionRules): void {
  const gasPrice = effectiveGasPrice(evm);
  if (gasPrice >= minGasPrice) return;
  throw new RefusedError(
    "GAS_PRICE_BELOW_MINIMUM",
    `transaction underpriced: it pays ${gasPrice} wei per gas, the minimum is ${minGasPrice}; only a waiver's wrapper carries a transaction with a price of 0`,
    { gasPrice: gasPrice.toString(), minGasPrice: minGasPrice.toString() },
  );
}

/** The price per gas in wei that the sender pays with a base fee of 0. */
export function effectiveGasPrice(evm: TypedTransaction): bigint {
  if (!("maxFeePerGas" in evm)) return evm.gasPrice;
  return evm.maxPriorityFeePerGas < evm.maxFeePerGas ? evm.maxPriorityFeePerGas : evm.maxFeePerGas;
}

function assertFitsBlock(gasLimit: bigint, { blockGasLimit }: AdmissionRules): void {
  if (gasLimit <= blockGasLimit) return;
  throw new RefusedError(
    "GAS_LIMIT_ABOVE_BLOCK",
    `exceeds block gas limit: the transaction's gas limit is ${gasLimit}, the block's ${blockGasLimit}`,
    { gasLimit: gasLimit.toString(), blockGasLimit: blockGasLimit.toString() },
  );
}

function assertLeastGas(evm: TypedTransaction): void {
  const needed = leastGas(evm);
  if (evm.gasLimit >= needed) return;
  throw new RefusedError(
    "GAS_LIMIT_TOO_LOW",
    `intrinsic gas too low: the gas limit is ${evm.gasLimit}, the transaction needs at least ${needed}`,
    { gasLimit: evm.gasLimit.toString(), intrinsicGas: needed.toString() },
  );
}

/** The intrinsic gas, or the calldata floor (EIP-7623) if that is higher. */
function leastGas(evm: TypedTransaction): bigint {
  const intrinsic = evm.getIntrinsicGas();
  const floor = getCalldataFloorGas(evm, evm.getSenderAddress());
  return intrinsic > floor ? intrinsic : floor;
}

/** The checks that the block repeats: the price, the nonce, the balance, and that the signer is not a contract. */
function assertCanRun(
  entry: OrdinaryEntry,
  state: StateReader,
  nonces: NonceRule,
  rules: AdmissionRules,
): void {
  const { evm, nonce, signer } = entry;
  assertMinGasPrice(evm, rules);
  const account = state.account(signer);
  const expected = account?.nonce ?? 0n;
  if (nonce < expected || (nonce > expected && nonces === "exact")) {
    const low = nonce < expected;
    throw new RefusedError(
      low ? "NONCE_TOO_LOW" : "NONCE_GAP",
      `nonce too ${low ? "low" : "high"}: next nonce ${expected}, tx nonce ${nonce}`,
      { nonce: nonce.toString(), expected: expected.toString() },
    );
  }
  // The balance must cover the signed fee cap, also where the transaction will pay less (EIP-1559).
  const price = "maxFeePerGas" in evm ? evm.maxFeePerGas : evm.gasPrice;
  const cost = evm.gasLimit * price + evm.value;
  const balance = account?.balance ?? 0n;
  if (balance < cost) {
    throw new RefusedError(
      "INSUFFICIENT_FUNDS",
      `insufficient funds for gas * price + value: balance ${balance} wei, cost ${cost} wei`,
      { balance: balance.toString(), cost: cost.toString() },
    );
  }
  if (!entry.impersonated) assertNoContract(signer, account?.codeHash, state);
}

/** Refuses a contract as the sender (EIP-3607), unless its code is a delegation (EIP-7702). */
function assertNoContract(signer: Hex, codeHash: Hex | undefined, state: StateReader): void {
  if (codeHash === undefined || codeHash === EMPTY_CODE_HASH) return;
  const code = state.code(codeHash);
  if (code[0] === 0xef && code[1] === 0x01 && code[2] === 0x00) return;
  throw new RefusedError("SENDER_IS_CONTRACT", `sender ${signer} is a contract (EIP-3607)`, {
    sender: signer,
  });
}

/** The view of a state that protocol's validator rules read. */
export function chainView(
  state: StateReader,
  { verificationGas }: Pick<AdmissionRules, "verificationGas">,
): ChainView {
  return {
    chainId: DEVNET_CHAIN_ID,
    verificationGas,
    isWaiver: (address) => policyVersion(state, address) !== undefined,
    isAllowed: (waiver, to, data) => policyVerdict(state, waiver, to, data),
    nonceOf: (address) => state.account(bytesToHex(address))?.nonce ?? 0n,
    balanceOf: (address) => state.account(bytesToHex(address))?.balance ?? 0n,
  };
}
