import { getCalldataFloorGas, type TypedTransaction } from "@ethereumjs/tx";
import {
  assertNoContract,
  assertWrapper,
  bytesToHex,
  type ChainView,
  type Hex,
  hexToBytes,
  intrinsicGas,
  type NonceRule,
  reassertWrapper,
  type ValidWrapper,
} from "@gas-waiver/protocol";
import {
  type ChainTransaction,
  chainTransaction,
  decodeOrdinary,
  goesToMarker,
  type RunnableTransaction,
  runnable,
} from "../block/transaction.js";
import { effectiveGasPrice, feesOf } from "../evm/gasPrice.js";
import { policyVerdict, policyVersion } from "../registry/policy.js";
import { EMPTY_CODE_HASH, NO_BYTES, type StateReader } from "../state/reader.js";
import { RefusedError } from "./refusedError.js";

/** Large enough for a proposal with 2,000 targets. Geth's limit of 128 KiB is too small for that. */
const MAX_TRANSACTION_BYTES = 1_048_576;

/** The rules of admission that do not depend on the state. */
export interface AdmissionRules {
  readonly chainId: bigint;
  /** The base fee of blocks in wei. With one, every transaction that pays has this price. */
  readonly baseFee: bigint;
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

/** Signed bytes with their hash, or a transaction of an impersonated sender, which has no valid signature. */
export type SentTransaction =
  | ChainTransaction
  | (Omit<ChainTransaction, "sender"> & { readonly sender?: undefined });

/**
 * Checks a transaction against a state: by D7 for a wrapper, by D11 and Ethereum's own rules for any other. The signature of a
 * wrapper names its waiver, so nobody is impersonated there.
 * @throws ProtocolError or {@link RefusedError} for the first check that fails.
 */
export async function admit(
  tx: SentTransaction,
  state: StateReader,
  nonces: NonceRule,
  rules: AdmissionRules,
): Promise<PoolEntry> {
  if (tx.sender !== undefined) return admitFrom(runnable(tx), true, state, nonces, rules);
  const { raw, hash } = tx;
  if (raw.length > MAX_TRANSACTION_BYTES) {
    throw new RefusedError(
      "TRANSACTION_TOO_LARGE",
      `oversized data: the transaction has ${raw.length} bytes, at most ${MAX_TRANSACTION_BYTES} are taken`,
      { bytes: raw.length, maxBytes: MAX_TRANSACTION_BYTES },
    );
  }
  return goesToMarker(raw)
    ? admitWrapper(raw, hash, state, nonces, rules)
    : admitFrom(decodeOrdinary(raw, hash, rules.chainId), false, state, nonces, rules);
}

/** Repeats the checks on the state in which the transaction is about to run (D8). */
export async function recheck(entry: PoolEntry, state: StateReader, rules: AdmissionRules): Promise<void> {
  if (entry.kind === "wrapper") {
    await reassertWrapper(entry.valid, chainView(state, rules));
  } else assertCanRun(entry, state, "exact", rules);
}

async function admitWrapper(
  raw: Uint8Array,
  hash: Hex,
  state: StateReader,
  nonces: NonceRule,
  rules: AdmissionRules,
): Promise<WrapperEntry> {
  const valid = await assertWrapper(raw, chainView(state, rules), nonces);
  const { wrapper, waiver, inner, sender } = valid;
  assertFitsBlock(wrapper.gasLimit, rules);
  const { tx: innerTx, evm: innerEvm } = runnable(chainTransaction(inner.raw, sender));
  const signer = bytesToHex(waiver);
  return {
    kind: "wrapper",
    tx: { raw, hash, sender: signer },
    signer,
    nonce: wrapper.nonce,
    gasLimit: wrapper.gasLimit,
    inner: innerTx,
    innerEvm,
    innerNonce: inner.nonce,
    overheadGas: intrinsicGas(wrapper),
    valid,
  };
}

function admitFrom(
  { tx, evm }: RunnableTransaction,
  impersonated: boolean,
  state: StateReader,
  nonces: NonceRule,
  rules: AdmissionRules,
): OrdinaryEntry {
  const { nonce, gasLimit } = evm;
  const entry: OrdinaryEntry = {
    kind: "ordinary",
    tx,
    signer: tx.sender,
    nonce,
    gasLimit,
    evm,
    impersonated,
  };
  assertMinGasPrice(entry, rules);
  assertFitsBlock(gasLimit, rules);
  assertLeastGas(entry);
  assertCanRun(entry, state, nonces, rules);
  return entry;
}

/** Ordinary transactions pay at least `minGasPrice` and the base fee (D11). */
function assertMinGasPrice({ evm }: OrdinaryEntry, { minGasPrice, baseFee }: AdmissionRules): void {
  const gasPrice = effectiveGasPrice(evm, baseFee);
  const least = baseFee > 0n ? baseFee : minGasPrice;
  if (gasPrice >= least) return;
  const values = { gasPrice: gasPrice.toString(), minGasPrice: least.toString() };
  const why = "only a waiver's wrapper carries a transaction with a price of 0";
  throw new RefusedError(
    "GAS_PRICE_BELOW_MINIMUM",
    baseFee > 0n
      ? `max fee per gas less than block base fee: maxFeePerGas: ${gasPrice}, baseFee: ${baseFee}; ${why}`
      : `transaction underpriced: it pays ${gasPrice} wei per gas, the minimum is ${minGasPrice}; ${why}`,
    values,
  );
}

function assertFitsBlock(gasLimit: bigint, { blockGasLimit }: AdmissionRules): void {
  if (gasLimit <= blockGasLimit) return;
  throw new RefusedError(
    "GAS_LIMIT_ABOVE_BLOCK",
    `exceeds block gas limit: the transaction's gas limit is ${gasLimit}, the block's ${blockGasLimit}`,
    { gasLimit: gasLimit.toString(), blockGasLimit: blockGasLimit.toString() },
  );
}

function assertLeastGas({ gasLimit, evm }: OrdinaryEntry): void {
  const needed = leastGas(evm);
  if (gasLimit >= needed) return;
  throw new RefusedError(
    "GAS_LIMIT_TOO_LOW",
    `intrinsic gas too low: the gas limit is ${gasLimit}, the transaction needs at least ${needed}`,
    { gasLimit: gasLimit.toString(), intrinsicGas: needed.toString() },
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
  const { nonce, signer } = entry;
  assertMinGasPrice(entry, rules);
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
  const [, cap] = feesOf(entry.evm);
  const cost = entry.gasLimit * cap + entry.evm.value;
  const balance = account?.balance ?? 0n;
  if (balance < cost) {
    throw new RefusedError(
      "INSUFFICIENT_FUNDS",
      `insufficient funds for gas * price + value: balance ${balance} wei, cost ${cost} wei`,
      { balance: balance.toString(), cost: cost.toString() },
    );
  }
  if (!entry.impersonated) assertNoContract(hexToBytes(signer), codeOf(state, signer));
}

/** The code of an account. */
function codeOf(state: StateReader, address: Hex): Uint8Array {
  const codeHash = state.account(address)?.codeHash ?? EMPTY_CODE_HASH;
  return codeHash === EMPTY_CODE_HASH ? NO_BYTES : state.code(codeHash);
}

/** The view of a state that protocol's validator rules read. */
export function chainView(
  state: StateReader,
  { verificationGas, chainId }: Pick<AdmissionRules, "verificationGas" | "chainId">,
): ChainView {
  return {
    chainId,
    verificationGas,
    isWaiver: (address) => policyVersion(state, address) !== undefined,
    isAllowed: (waiver, to, data) => policyVerdict(state, waiver, to, data),
    nonceOf: (address) => state.account(bytesToHex(address))?.nonce ?? 0n,
    codeOf: (address) => codeOf(state, bytesToHex(address)),
    balanceOf: (address) => state.account(bytesToHex(address))?.balance ?? 0n,
  };
}
