import { decodeInnerTx, type InnerTx, isWrapper, ProtocolError } from "@gas-waiver/protocol";
import type { SealedBlock } from "../block/block.js";
import type { Chain } from "../chain/chain.js";
import { RPC_CODES, RpcError } from "../rpc/errors.js";
import type { StateReader } from "../state/reader.js";
import { assertValueCovered, balanceOf, type CallRequest, callGas, leastGas, toCall } from "./callRequest.js";
import { assertSucceeded } from "./runCall.js";

/**
 * Serves eth_estimateGas.
 * @returns the lowest gas limit with which the transaction succeeds. With a gas price, the sender's balance caps it.
 */
export async function estimateGas(
  chain: Chain,
  request: CallRequest,
  block: SealedBlock,
  state: StateReader,
): Promise<bigint> {
  if (isWrapper(request)) return estimateWrapperGas(chain, request);
  assertValueCovered(request, state);
  const { intrinsic, floor, least } = leastGas(request);
  const cap = gasCap(chain, request, state);
  const attempt = async (gasLimit: bigint) => chain.call(toCall(request, gasLimit - intrinsic), block, state);
  if (cap < least) throw exceedsAllowance(cap);
  const first = await attempt(cap);
  if (first.failure === "out of gas") throw exceedsAllowance(cap);
  assertSucceeded(first);
  const exact = intrinsic + first.executionGasUsed;
  if ((await attempt(exact)).status === 1) return exact > floor ? exact : floor;
  // Some calls need more gas than they use: for the 63/64 rule, a stipend, or a check of gasleft().
  const succeeds = async (gasLimit: bigint) => (await attempt(gasLimit)).status === 1;
  const lowest = await lowestThat(succeeds, exact, cap);
  return lowest > floor ? lowest : floor;
}

/**
 * Estimates a wrapper: the gas limit of its InnerTx, its own intrinsic gas, and the chain's verification gas (D7). The
 * limit of the InnerTx is signed, so nothing is tried out.
 */
function estimateWrapperGas(chain: Chain, request: CallRequest): bigint {
  const { blockGasLimit, verificationGas } = chain.options;
  const inner = readInner(request.data);
  const needed = inner.gasLimit + leastGas(request).least + verificationGas;
  if (needed > blockGasLimit) throw exceedsAllowance(blockGasLimit);
  return needed;
}

function readInner(data: Uint8Array): InnerTx {
  try {
    return decodeInnerTx(data);
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    const values = { ...error.values, reason: error.reason, check: "inner decodes" };
    throw new RpcError(RPC_CODES.refused, `execution failed: ${error.message}`, values);
  }
}

/** The lowest limit that succeeds, given that `low` fails and `high` succeeds. It is usually near `low`. */
async function lowestThat(
  succeeds: (gasLimit: bigint) => Promise<boolean>,
  low: bigint,
  high: bigint,
): Promise<bigint> {
  while (low + 1n < high) {
    const middle = high / 2n > low ? low * 2n : (low + high) / 2n;
    if (await succeeds(middle)) high = middle;
    else low = middle;
  }
  return high;
}

function gasCap(chain: Chain, request: CallRequest, state: StateReader): bigint {
  const cap = callGas(chain, request);
  if (request.gasPrice === 0n) return cap;
  const affordable = (balanceOf(request.from, state) - request.value) / request.gasPrice;
  return affordable < cap ? affordable : cap;
}

function exceedsAllowance(cap: bigint): RpcError {
  return new RpcError(RPC_CODES.refused, `gas required exceeds allowance (${cap})`);
}
