import type { AccessList } from "@ethereumjs/tx";
import { bytesToHex, gasBounds } from "@gas-waiver/protocol";
import type { Chain } from "../chain/chain.js";
import type { AccessedAccount, Call } from "../evm/executor.js";
import { invalidParams, RPC_CODES, RpcError } from "../rpc/errors.js";
import { address, bytes, hash, object, optional, quantity, shortJson, uint64 } from "../rpc/params.js";
import { NO_BYTES, type StateReader } from "../state/reader.js";

/** The parameters of a call, as eth_call and eth_estimateGas take them. */
export interface CallRequest extends Omit<Call, "executionGas" | "reportAccess"> {
  readonly gas: bigint | undefined;
}

/** The most gas of a call, whatever it asks for: geth's default (--rpc.gascap), since an endless loop holds the node for so long. */
export const CALL_GAS_CAP = 50_000_000n;

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
  if (!Array.isArray(value)) throw invalidParams(`accessList is ${shortJson(value)}, not a list`);
  return value.map((item: unknown) => {
    const entry = object(item, "an entry of accessList");
    const keys = entry.storageKeys ?? [];
    if (!Array.isArray(keys)) throw invalidParams(`storageKeys is ${shortJson(keys)}, not a list`);
    return {
      address: bytesToHex(address(entry.address, "an address of accessList")),
      storageKeys: keys.map((key: unknown) => hash(key, "a storage key")),
    };
  });
}

export function toCall({ gas: _, ...call }: CallRequest, executionGas: bigint): Call {
  return { ...call, executionGas };
}

/** The gas limit of a call: the requested one, or the cap of the block and of the node if that is lower. */
export function callGas(chain: Chain, { gas }: CallRequest): bigint {
  const { blockGasLimit } = chain.options;
  const cap = blockGasLimit < CALL_GAS_CAP ? blockGasLimit : CALL_GAS_CAP;
  return gas !== undefined && gas < cap ? gas : cap;
}

/**
 * The intrinsic gas of the transaction that the request would become, its calldata floor (EIP-7623), and the higher of
 * the two, below which no gas limit can be.
 */
export function leastGas(request: CallRequest) {
  const { intrinsic, floor } = gasBounds(request);
  return { intrinsic, floor, least: intrinsic > floor ? intrinsic : floor };
}

/** @throws {@link RpcError} if the sender cannot pay the value that the call carries. */
export function assertValueCovered({ from, value }: CallRequest, state: StateReader): void {
  const balance = balanceOf(from, state);
  if (balance >= value) return;
  throw new RpcError(
    RPC_CODES.refused,
    `insufficient funds for transfer: ${bytesToHex(from)} has ${balance} wei, the call carries ${value}`,
    { reason: "INSUFFICIENT_FUNDS", balance: balance.toString(), value: value.toString() },
  );
}

export function balanceOf(account: Uint8Array, state: StateReader): bigint {
  return state.account(bytesToHex(account))?.balance ?? 0n;
}

export function toEvmAccessList(list: readonly AccessedAccount[]): AccessList {
  return list.map(({ address: account, storageKeys }) => ({
    address: account,
    storageKeys: [...storageKeys],
  }));
}
