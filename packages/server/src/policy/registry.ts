import {
  type AllowedTarget,
  bytesToHex,
  type Hex,
  hexToBytes,
  POLICY_EVENTS,
  policyTargetsCall,
  policyVersionCall,
  REGISTRY_ADDRESS,
  readPolicyTargets,
  readPolicyVersion,
  UnexpectedResultError,
} from "@gas-waiver/protocol";
import { blockCall, blockNumberCall, logsCall, runCall, toQuantity } from "../chain/client/calls.js";
import { count, headOf, unlessUnclear } from "../chain/client/nodeAnswers.js";
import { readIn } from "../chain/client/snapshot.js";
import {
  MAX_BATCH_CALLS,
  NodeRpcError,
  type Rpc,
  type RpcCall,
  type RpcOutcome,
  RpcUnavailableError,
  resultIn,
} from "../chain/rpc/rpc.js";
import { chunk } from "../util/chunk.js";

/** A block of the chain. */
export interface BlockRef {
  readonly number: bigint;
  /** 0x hex. */
  readonly hash: string;
}

/** The policies of some waivers. */
export interface RegistryReading {
  /** A block no later than any of the policies. Every later change has its event in a later block. */
  readonly block: BlockRef;
  /** The targets of each waiver, in the order of the call; undefined for an address that is not a registered waiver. */
  readonly targets: readonly (readonly AllowedTarget[] | undefined)[];
}

/** The chain's WaiverRegistry (D12), read by calls and followed by its events. */
export type Registry = ReturnType<typeof createRegistry>;

export type RegistryChanges =
  | { readonly kind: "unchanged"; readonly block: BlockRef }
  | { readonly kind: "changed" | "unknown" };

/** Calls cannot read the registry: the address has another contract or none, or the node runs no calls. */
export class RegistryUnreadableError extends Error {
  override readonly name = "RegistryUnreadableError";
}

/** After a longer gap, all policies are read instead of the events. */
const MAX_BLOCK_RANGE = 500n;

const REGISTRY = bytesToHex(REGISTRY_ADDRESS);

const registryCall = (data: Uint8Array): RpcCall =>
  runCall({ to: REGISTRY, data: bytesToHex(data) }, "latest");

export function createRegistry(rpc: Rpc) {
  return {
    /** @throws {@link RegistryUnreadableError}, or RpcUnavailableError if no node answers. */
    async read(waivers: readonly Uint8Array[]) {
      const calls = waivers.flatMap((waiver) => [
        registryCall(policyVersionCall(waiver)),
        registryCall(policyTargetsCall(waiver)),
      ]);
      // The block comes first, so that each call reads the state of that block or of a later one.
      const outcomes = await readAll(rpc, [blockCall("latest"), ...calls]);
      const block = blockOf(outcomes[0]);
      if (block === undefined) throw new RpcUnavailableError("the node gives no latest block", "unknown");
      const results = outcomes.slice(1).map(bytesOf);
      return { block, targets: waivers.map((_, i) => policyOf(results[2 * i], results[2 * i + 1])) };
    },
    /**
     * Looks for events after a block.
     * @param height the height of the chain; the node is asked for it if undefined.
     * @returns `unchanged`, with the block up to which that holds; `changed` after an event; `unknown` if events may have
     *   been missed: after a reorg or a long gap, or because the node gives no logs.
     * @throws RpcUnavailableError if no node answers.
     */
    async changesSince(known: BlockRef, height?: bigint): Promise<RegistryChanges> {
      const number = height ?? unlessUnclear(readIn((await readAll(rpc, [blockNumberCall()]))[0], count));
      if (number === known.number) return { kind: "unchanged", block: known };
      if (number === undefined || number < known.number || number - known.number > MAX_BLOCK_RANGE) {
        return { kind: "unknown" };
      }
      const filter = {
        address: REGISTRY,
        fromBlock: toQuantity(known.number + 1n),
        toBlock: toQuantity(number),
        topics: [POLICY_EVENTS],
      };
      const [before, now, logs] = await readAll(rpc, [
        blockCall(known.number),
        blockCall(number),
        logsCall(filter),
      ]);
      const block = blockOf(now);
      const found = resultIn(logs);
      if (block === undefined || blockOf(before)?.hash !== known.hash || !Array.isArray(found)) {
        return { kind: "unknown" };
      }
      return found.length > 0 ? { kind: "changed" } : { kind: "unchanged", block };
    },
  };
}

/** Makes any number of calls, in requests of bounded size, each to one node: its block, logs and calls belong together. @throws RpcUnavailableError for the first call without an answer. */
async function readAll(rpc: Rpc, calls: readonly RpcCall[]): Promise<RpcOutcome[]> {
  const outcomes: RpcOutcome[] = [];
  for (const batch of chunk(calls, MAX_BATCH_CALLS))
    outcomes.push(...(await rpc.read(batch, { byOneNode: true })));
  for (const outcome of outcomes) {
    if ("error" in outcome && !(outcome.error instanceof NodeRpcError)) throw outcome.error;
  }
  return outcomes;
}

function policyOf(
  version: Uint8Array | undefined,
  targets: Uint8Array | undefined,
): readonly AllowedTarget[] | undefined {
  try {
    const nothing = new Uint8Array(0);
    return readPolicyVersion(version ?? nothing) === undefined
      ? undefined
      : readPolicyTargets(targets ?? nothing);
  } catch (error) {
    if (!(error instanceof UnexpectedResultError)) throw error;
    const message = `the contract at ${REGISTRY} is not a WaiverRegistry: ${error.message}`;
    throw new RegistryUnreadableError(message, { cause: error });
  }
}

/** The messages of nodes that run no calls, or whose registry is another contract. Any other error may pass. */
const UNSUPPORTED_CALL = /\bmethod\b.*\b(not found|not supported|not available|does not exist)|\brevert/i;
const METHOD_NOT_FOUND = -32_601;

function bytesOf(outcome: RpcOutcome): Uint8Array {
  if ("error" in outcome) {
    const { error } = outcome;
    const message = `the node refuses a call of ${REGISTRY}: ${error.message}`;
    const isPermanent =
      error instanceof NodeRpcError &&
      (error.code === METHOD_NOT_FOUND || UNSUPPORTED_CALL.test(error.message));
    throw isPermanent
      ? new RegistryUnreadableError(message, { cause: error })
      : new RpcUnavailableError(message, "unknown", { cause: error });
  }
  const { result } = outcome;
  if (typeof result === "string" && /^0x([0-9a-f]{2})*$/i.test(result)) return hexToBytes(result as Hex);
  throw new RegistryUnreadableError(`the node answers a call of ${REGISTRY} with no bytes`);
}

function blockOf(outcome: RpcOutcome | undefined): BlockRef | undefined {
  const head = unlessUnclear(readIn(outcome, headOf));
  return head && { number: head.number, hash: bytesToHex(head.hash) };
}
