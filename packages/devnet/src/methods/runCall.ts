import { bytesToHex, type Hex, revertText } from "@gas-waiver/protocol";
import type { SealedBlock } from "../block/block.js";
import type { Chain } from "../chain/chain.js";
import type { BlockEnvironment, CallOutcome } from "../evm/executor.js";
import { RPC_CODES, RpcError } from "../rpc/errors.js";
import type { StateReader } from "../state/reader.js";
import { assertValueCovered, type CallRequest, callGas, leastGas, toCall } from "./callRequest.js";

/**
 * Serves eth_call. The gas limit is that of a transaction, as in geth: it also covers the intrinsic gas.
 * @returns the data that the call returns.
 * @throws {@link RpcError} with code 3 and the returned data if the call reverts.
 */
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

/** The part of a call's gas limit that is left for its execution. A call without a gas limit has the whole cap. */
function executionGas(chain: Chain, request: CallRequest): bigint {
  const gas = callGas(chain, request);
  if (request.gas === undefined) return gas;
  const { intrinsic, least } = leastGas(request);
  if (gas >= least) return gas - intrinsic;
  throw new RpcError(RPC_CODES.refused, `intrinsic gas too low: have ${gas}, want ${least}`);
}

/** The EVM's error message in geth's words. */
export function failureText(failure: string): string {
  return failure === "revert" ? "execution reverted" : failure;
}

/** @throws {@link RpcError} if the call failed. */
export function assertSucceeded({ status, failure, returnData }: CallOutcome): void {
  if (status === 1) return;
  if (failure !== "revert") throw new RpcError(RPC_CODES.refused, `execution failed: ${failure}`);
  const reason = revertText(returnData);
  throw new RpcError(
    RPC_CODES.reverted,
    reason === undefined ? "execution reverted" : `execution reverted: ${reason}`,
    bytesToHex(returnData),
  );
}
