import { bytesToHex, type Hex } from "@gas-waiver/protocol";
import type { SealedBlock } from "../block/block.js";
import type { Chain } from "../chain/chain.js";
import { type CallFrame, CallTracer } from "../evm/callTracer.js";
import type { StateReader } from "../state/reader.js";
import { assertValueCovered, type CallRequest, callGas, leastGas, toCall } from "./callRequest.js";
import { toQuantity } from "./format.js";
import { failureText } from "./runCall.js";

/**
 * Serves eth_createAccessList.
 * @returns the accounts and slots that the call accesses, and the gas that it uses with this list; if the call fails, also
 *   the error. The sender, the target and created contracts are listed only for their slots.
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
