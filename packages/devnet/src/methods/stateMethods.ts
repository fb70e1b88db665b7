import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import type { SealedBlock } from "../block/block.js";
import type { Chain } from "../chain/chain.js";
import { type CallFrame, CallTracer } from "../evm/callTracer.js";
import { invalidParams, RPC_CODES, RpcError } from "../rpc/errors.js";
import type { Methods } from "../rpc/method.js";
import { address, quantity, shortJson } from "../rpc/params.js";
import { EMPTY_CODE_HASH, type StateReader } from "../state/reader.js";
import { wordHex } from "../state/word.js";
import {
  assertValueCovered,
  type CallRequest,
  callGas,
  leastGas,
  readCallRequest,
  toCall,
} from "./callRequest.js";
import { estimateGas } from "./estimateGas.js";
import { requireBlock, requireState } from "./findBlock.js";
import { toQuantity } from "./format.js";
import { applyOverrides, readBlockOverrides } from "./overrides.js";
import { failureText, runCall } from "./runCall.js";

/** Methods that read the state after a block, and calls on it. */
export function stateMethods(chain: Chain): Methods {
  const accountAt = (account: unknown, tag: unknown) =>
    requireState(chain, tag).state.account(bytesToHex(address(account)));
  const overridden = (tag: unknown, overrides: unknown) => {
    const { block, state } = requireState(chain, tag);
    return { block, state: applyOverrides(state, overrides) };
  };
  return {
    eth_getBalance: ([account, tag]) => toQuantity(accountAt(account, tag)?.balance ?? 0n),
    eth_getTransactionCount: ([account, tag]) => {
      const next = accountAt(account, tag)?.nonce ?? 0n;
      const pending = tag === "pending";
      return toQuantity(pending ? chain.pool.nextNonce(bytesToHex(address(account)), next) : next);
    },
    eth_getCode: ([account, tag]) => {
      const { state } = requireState(chain, tag);
      const record = state.account(bytesToHex(address(account)));
      return record === undefined ? "0x" : bytesToHex(state.code(record.codeHash));
    },
    eth_getStorageAt: ([account, slot, tag]) => {
      const { state } = requireState(chain, tag);
      return wordHex(state.slot(bytesToHex(address(account)), wordHex(quantity(slot, "slot"))));
    },
    eth_getProof: ([account, slots, tag]) => getProof(chain, account, slots, tag),
    eth_call: ([call, tag, overrides, blockOverrides]) => {
      const { block, state } = overridden(tag, overrides);
      return runCall(chain, readCallRequest(call), block, state, readBlockOverrides(blockOverrides));
    },
    eth_estimateGas: async ([call, tag, overrides]) => {
      const { block, state } = overridden(tag, overrides);
      return toQuantity(await estimateGas(chain, readCallRequest(call), block, state));
    },
    eth_createAccessList: async ([call, tag, overrides]) => {
      const { block, state } = overridden(tag, overrides);
      return createAccessList(chain, readCallRequest(call), block, state);
    },
  };
}

const MAX_SLOTS = 1_024;

/** Serves eth_getProof (EIP-1186) for the latest block. Past tries are not kept. */
function getProof(chain: Chain, account: unknown, keys: unknown, tag: unknown) {
  const holder = bytesToHex(address(account));
  if (!Array.isArray(keys) || keys.length > MAX_SLOTS) {
    throw invalidParams(`the slots are ${shortJson(keys)}, not a list of up to ${MAX_SLOTS}`);
  }
  const slots = keys.map((key: unknown) => wordHex(quantity(key, "a slot")));
  if (requireBlock(chain, tag).number !== chain.head.number) {
    throw new RpcError(RPC_CODES.refused, `proofs are of the latest block, ${chain.head.number}, only`);
  }
  const proof = chain.prove(holder, slots);
  if (proof === undefined) {
    throw new RpcError(RPC_CODES.refused, "the state was changed since the latest block: make a block first");
  }
  const record = chain.state.account(holder);
  return {
    address: holder,
    accountProof: proof.account.map((node) => bytesToHex(node)),
    balance: toQuantity(record?.balance ?? 0n),
    codeHash: record?.codeHash ?? EMPTY_CODE_HASH,
    nonce: toQuantity(record?.nonce ?? 0n),
    storageHash: proof.storageRoot,
    storageProof: slots.map((slot, i) => ({
      key: slot,
      value: toQuantity(BigInt(`0x0${bytesToHex(chain.state.slot(holder, slot)).slice(2)}`)),
      proof: (proof.slots[i] ?? []).map((node) => bytesToHex(node)),
    })),
  };
}

/**
 * Serves eth_createAccessList.
 * @returns the accounts and slots that the call accesses, and the gas that it uses with this list; if the call fails, also
 *   the error. The sender, the target and created contracts are listed only for their slots.
 */
async function createAccessList(chain: Chain, request: CallRequest, block: SealedBlock, state: StateReader) {
  assertValueCovered(request, state);
  const gas = callGas(chain, request);
  const call = { ...toCall(request, gas), reportAccess: true };
  const tracer = new CallTracer();
  const first = await chain.call(call, block, state, { tracer });
  const warm = new Set([request.from, request.to].map((account) => account && bytesToHex(account)));
  for (const account of created(tracer.root)) warm.add(account);
  const accessList = first.accessed.filter(
    ({ address: account, storageKeys }) => storageKeys.length > 0 || !warm.has(account),
  );
  const { intrinsic } = leastGas({ ...request, accessList });
  const { executionGasUsed, failure } = await chain.call({ ...call, accessList }, block, state);
  return {
    accessList,
    gasUsed: toQuantity(intrinsic + executionGasUsed),
    ...(failure !== undefined && { error: failureText(failure) }),
  };
}

/** The contracts that a call created. They are warm without an access list. */
function created(frame: CallFrame | undefined): Hex[] {
  if (frame === undefined) return [];
  const own = frame.type.startsWith("CREATE") && frame.to !== undefined ? [frame.to] : [];
  return [...own, ...frame.calls.flatMap(created)];
}
