import { type AccessList, createTx, getCalldataFloorGas } from "@ethereumjs/tx";
import { Address } from "@ethereumjs/util";
import { bytesToHex, type Hex, revertText } from "@gas-waiver/protocol";
import type { SealedBlock } from "../block/block.js";
import type { Chain } from "../chain/chain.js";
import { type CallFrame, CallTracer } from "../evm/callTracer.js";
import { common } from "../evm/common.js";
import type { AccessedAccount, BlockEnvironment, Call, CallOutcome } from "../evm/executor.js";
import { invalidParams, RPC_CODES, RpcError } from "../rpc/errors.js";
import { address, bytes, hash, object, optional, quantity, show, uint64 } from "../rpc/params.js";
import { NO_BYTES, type StateReader } from "../state/reader.js";
import { toQuantity } from "./format.js";

/** What eth_call and eth_estimateGas are given. */
export interface CallRequest {
  readonly from: Uint8Array;
  readonly to: Uint8Array | undefined;
  readonly data: Uint8Array;
  readonly value: bigint;
  readonly gasPrice: bigint;
  readonly gas: bigint | undefined;
  readonly accessList: readonly AccessedAccount[] | undefined;
}

/** A call may use so much, also when it asks for more, or an endless loop would hold the node for a minute. */
export const CALL_GAS_CAP = 100_000_000n;

export function readCallRequest(param: unknown): CallRequest {
  const call = object(param, "the call");
  const { input, data } = call;
  if (input !== undefined && data !== undefined && input !== data) {
    throw invalidParams("the call has both input and data, and they differ");
  }
  return {
    from: optional(call.from, new Uint8Array(20), (value) => address(value, "from")),
    to: optional(call.to, undefined, (value) => address(value, "to")),
    data: optional(input ?? data, NO_BYTES, (value) => bytes(value, "data")),
    value: optional(call.value, 0n, (value) => quantity(value, "value")),
    gasPrice: optional(call.gasPrice ?? call.maxFeePerGas, 0n, (value) => quantity(value, "gasPrice")),
    gas: optional(call.gas, undefined, (value) => uint64(value, "gas")),
    accessList: optional(call.accessList, undefined, readAccessList),
  };
}

function readAccessList(value: unknown): AccessedAccount[] {
  if (!Array.isArray(value)) throw invalidParams(`accessList is ${show(value)}, not a list`);
  return value.map((item: unknown) => {
    const entry = object(item, "an entry of accessList");
    const keys = entry.storageKeys ?? [];
    if (!Array.isArray(keys)) throw invalidParams(`storageKeys is ${show(keys)}, not a list`);
    return {
      address: bytesToHex(address(entry.address, "an address of accessList")),
      storageKeys: keys.map((key: unknown) => hash(key, "a storage key")),
    };
  });
}

/**
 * eth_call: what the call returns. As in geth, a gas limit is that of a transaction: it also covers the intrinsic gas.
 * @throws {@link RpcError} code 3 with the data of a revert. */
export async function runCall(
  chain: Chain,
  request: CallRequest,
  block: SealedBlock,
  state: StateReader,
  environment: Partial<BlockEnvironment> = {},
): Promise<Hex> {
  assertValueCovered(request, state);
  const outcome = await chain.call(toCall(request, executionGas(chain, request)), block, state, {
    environment,
  });
  assertSucceeded(outcome);
  return bytesToHex(outcome.returnData);
}

/**
 * eth_estimateGas: the least gas limit with which the transaction succeeds.
 * A price of 0 needs no balance; with a price, the balance caps the limit as it will when it is sent.
 */
export async function estimateGas(
  chain: Chain,
  request: CallRequest,
  block: SealedBlock,
  state: StateReader,
): Promise<bigint> {
  assertValueCovered(request, state);
  const { intrinsic, floor } = leastGas(request);
  const cap = gasCap(chain, request, state);
  const attempt = async (gasLimit: bigint) => chain.call(toCall(request, gasLimit - intrinsic), block, state);
  const least = intrinsic > floor ? intrinsic : floor;
  if (cap < least) throw exceedsAllowance(cap);
  const first = await attempt(cap);
  if (first.failure === "out of gas") throw exceedsAllowance(cap);
  assertSucceeded(first);
  const exact = intrinsic + first.executionGasUsed;
  if ((await attempt(exact)).status === 1) return exact > floor ? exact : floor;
  // Some gas has to be at hand without being used: the 63/64 rule, a stipend, a check of gasleft().
  let low = exact;
  let high = cap;
  while (low + 1n < high) {
    const middle = high / 2n > low ? low * 2n : (low + high) / 2n;
    if ((await attempt(middle)).status === 1) high = middle;
    else low = middle;
  }
  return high > floor ? high : floor;
}

/** What is left of a call's gas limit for its execution; a call that names none has all that a call may use. */
function executionGas(chain: Chain, request: CallRequest): bigint {
  const gas = callGas(chain, request);
  if (request.gas === undefined) return gas;
  const { intrinsic, floor } = leastGas(request);
  const least = intrinsic > floor ? intrinsic : floor;
  if (gas >= least) return gas - intrinsic;
  throw new RpcError(RPC_CODES.refused, `intrinsic gas too low: have ${gas}, want ${least}`);
}

/** What a call may use: what it asks for, and what a block and the node allow. */
export function callGas(chain: Chain, { gas }: CallRequest): bigint {
  const { blockGasLimit } = chain.options;
  const most = blockGasLimit < CALL_GAS_CAP ? blockGasLimit : CALL_GAS_CAP;
  return gas !== undefined && gas < most ? gas : most;
}

function gasCap(chain: Chain, request: CallRequest, state: StateReader): bigint {
  const cap = callGas(chain, request);
  if (request.gasPrice === 0n) return cap;
  const affordable = (balanceOf(request.from, state) - request.value) / request.gasPrice;
  return affordable < cap ? affordable : cap;
}

/**
 * eth_createAccessList: what the call touches beyond its sender and its target, and what it uses once that is
 * paid for. A call that fails says so beside its list.
 */
export async function createAccessList(
  chain: Chain,
  request: CallRequest,
  block: SealedBlock,
  state: StateReader,
) {
  assertValueCovered(request, state);
  const gas = callGas(chain, request);
  const call = { ...toCall(request, gas), reportAccess: true };
  const tracer = new CallTracer();
  const first = await chain.call(call, block, state, { tracer });
  const atHand = new Set([request.from, request.to].map((account) => account && bytesToHex(account)));
  for (const account of created(tracer.root)) atHand.add(account);
  const accessList = first.accessed.filter(
    ({ address: account, storageKeys }) => storageKeys.length > 0 || !atHand.has(account),
  );
  const { intrinsic } = leastGas({ ...request, accessList });
  const { executionGasUsed, failure } = await chain.call({ ...call, accessList }, block, state);
  return {
    accessList,
    gasUsed: toQuantity(intrinsic + executionGasUsed),
    ...(failure !== undefined && { error: failureText(failure) }),
  };
}

/** Contracts that a call made, which are at hand to those that made them. */
function created(frame: CallFrame | undefined): Hex[] {
  if (frame === undefined) return [];
  const own = frame.type.startsWith("CREATE") && frame.to !== undefined ? [frame.to] : [];
  return [...own, ...frame.calls.flatMap(created)];
}

/** Intrinsic gas and calldata floor of the transaction that the request would become. */
function leastGas(request: CallRequest): { intrinsic: bigint; floor: bigint } {
  const from = new Address(request.from);
  const fields = {
    type: request.accessList === undefined ? 0 : 1,
    data: request.data,
    gasLimit: 2n ** 53n,
    ...(request.to && { to: new Address(request.to) }),
    ...(request.accessList && { accessList: toEvmAccessList(request.accessList) }),
  };
  const tx = createTx(fields, { common, freeze: false });
  tx.getSenderAddress = () => from;
  return { intrinsic: tx.getIntrinsicGas(), floor: getCalldataFloorGas(tx, from) };
}

export function toCall(
  { from, to, data, value, gasPrice, accessList }: CallRequest,
  executionGas: bigint,
): Call {
  return { from, to, data, value, gasPrice, executionGas, accessList };
}

export function assertValueCovered({ from, value }: CallRequest, state: StateReader): void {
  const balance = balanceOf(from, state);
  if (balance >= value) return;
  throw new RpcError(
    RPC_CODES.refused,
    `insufficient funds for transfer: ${bytesToHex(from)} has ${balance} wei, the call carries ${value}`,
    { reason: "INSUFFICIENT_FUNDS", balance: balance.toString(), value: value.toString() },
  );
}

function balanceOf(account: Uint8Array, state: StateReader): bigint {
  return state.account(bytesToHex(account))?.balance ?? 0n;
}

export function toEvmAccessList(list: readonly AccessedAccount[]): AccessList {
  return list.map(({ address: account, storageKeys }) => ({
    address: account,
    storageKeys: [...storageKeys],
  }));
}

/** The EVM's word for what went wrong, as geth has it. */
export function failureText(failure: string): string {
  return failure === "revert" ? "execution reverted" : failure;
}

function exceedsAllowance(cap: bigint): RpcError {
  return new RpcError(RPC_CODES.refused, `gas required exceeds allowance (${cap})`);
}

function assertSucceeded({ status, failure, returnData }: CallOutcome): void {
  if (status === 1) return;
  if (failure !== "revert") throw new RpcError(RPC_CODES.refused, `execution failed: ${failure}`);
  const reason = revertText(returnData);
  throw new RpcError(
    RPC_CODES.reverted,
    reason === undefined ? "execution reverted" : `execution reverted: ${reason}`,
    bytesToHex(returnData),
  );
}
