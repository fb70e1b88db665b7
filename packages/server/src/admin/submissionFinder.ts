import {
  bytesEqual,
  bytesToHex,
  describeValue,
  hexToBytes,
  ProtocolError,
  type SubmissionRecord,
} from "@gas-waiver/protocol";
import { REASON_NOTES } from "@gas-waiver/protocol/description";
import type { NodeClient } from "../chain/client/nodeClient.js";
import { connectNode } from "../chain/servedChain.js";
import { StartError } from "../model/errors.js";
import { toSubmissionRecord } from "../model/submission/submissionRecord.js";
import { isOwnWait, NEXT_STEPS, waitSentence } from "../model/submission/waitCauses.js";
import { lastChain } from "../store/chains.js";
import { findLaneStatuses, type LaneStatus } from "../store/lanes/laneStatus.js";
import { openRunningStore, type Store, type StoreLocation } from "../store/store.js";
import {
  type FoundSubmission,
  findByHash,
  findById,
  findBySender,
  findByWrapperPlace,
  findStuck,
} from "../store/submissions/findNamed.js";

/** A submission as an operator sees it, whichever API key it is of. */
export interface ExplainedSubmission {
  /** The API key that submitted it. */
  readonly keyId: string;
  readonly record: SubmissionRecord;
  /** The time since it was accepted. */
  readonly ageSeconds: number;
  /** The waiver of its lane. */
  readonly lane: string;
  /** The UUID of the replica that works the lane; absent if none does. */
  readonly owner?: string;
  /** Where it stands, and what it waits for. */
  readonly why: string;
  /** The words of the node that last did not take a wrapper of it. */
  readonly nodeSaid?: string;
  /** The operator's next step, or the sender's after a failure. */
  readonly next: string;
}

/** Finds submissions across all API keys, and tells what each waits for. It only reads. */
export type SubmissionFinder = ReturnType<typeof createSubmissionFinder>;

export interface SubmissionFinderDependencies {
  readonly store: Store;
  readonly chainRef: number;
  /** The node knows where the wrappers of outcomes are, which no index of the store has; undefined without a node. */
  readonly chain: Pick<NodeClient, "transaction"> | undefined;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function createSubmissionFinder(dependencies: SubmissionFinderDependencies) {
  const { store, chainRef } = dependencies;
  const explained = async (found: readonly FoundSubmission[]) => {
    if (found.length === 0) return [];
    const lanes = await findLaneStatuses(store, chainRef);
    return found.map((one) =>
      explain(
        one,
        lanes.find(({ waiver }) => bytesEqual(waiver, one.lane)),
      ),
    );
  };
  return {
    /**
     * @param name the id of a submission, the hash of its transaction or of a wrapper, or the address of a sender.
     * @returns the newest first; none if nothing has this name.
     * @throws {@link ProtocolError} `MALFORMED_QUERY` if it is none of these.
     */
    why: async (name: string) => explained(await findNamed(name.trim().toLowerCase(), dependencies)),
    /** The oldest submissions that no block has, of those that were accepted longer ago than this. */
    stuck: async (options: { readonly olderThanMs: number; readonly limit: number }) =>
      explained(await findStuck(store, chainRef, options)),
  };
}

async function findNamed(
  name: string,
  { store, chainRef, chain }: SubmissionFinderDependencies,
): Promise<FoundSubmission[]> {
  if (UUID.test(name)) return await findById(store, name);
  if (/^0x[0-9a-f]{40}$/.test(name)) return await findBySender(store, chainRef, hexToBytes(name));
  if (!/^0x[0-9a-f]{64}$/.test(name)) {
    throw new ProtocolError(
      "MALFORMED_QUERY",
      `${describeValue(name)} is neither the id of a submission, a hash, nor the address of a sender`,
    );
  }
  const found = await findByHash(store, chainRef, hexToBytes(name));
  const place = found.length === 0 ? await chain?.transaction(hexToBytes(name)) : undefined;
  if (place === undefined) return found;
  return await findByWrapperPlace(store, chainRef, { waiver: place.from, nonce: place.nonce });
}

function explain(found: FoundSubmission, lane: LaneStatus | undefined): ExplainedSubmission {
  const { submission, nodeSaid } = found;
  const { why, next } = conclusionOf(found, lane);
  return {
    keyId: submission.keyId,
    record: toSubmissionRecord(submission),
    ageSeconds: Math.round((Date.now() - submission.acceptedAt.getTime()) / 1_000),
    lane: bytesToHex(found.lane),
    ...(lane?.owner !== undefined && { owner: lane.owner }),
    why,
    ...(nodeSaid !== undefined && { nodeSaid }),
    next,
  };
}

interface Conclusion {
  readonly why: string;
  readonly next: string;
}

const NOTHING = "Nothing.";

/** The first that fits holds: the outcome, then the lane, which holds up all that it has, then the submission's own wait. */
function conclusionOf({ submission, wait }: FoundSubmission, lane: LaneStatus | undefined): Conclusion {
  if (submission.state === "failed") {
    const { reason, message } = submission;
    return { why: `it failed: ${reason}: ${message}`, next: REASON_NOTES[reason].remedy };
  }
  if (submission.state === "included") {
    const { reverted, innerHash } = submission;
    const how = reverted ? "reverted" : "worked";
    const isFinal = submission.steps.finishedAt !== undefined;
    return {
      why: `it is in block ${submission.blockNumber}, which is ${isFinal ? "" : "not yet "}final, and ${how}`,
      next: reverted
        ? `\`gas-waiver explain ${bytesToHex(innerHash)}\` tells why the call reverted; its nonce is used.`
        : NOTHING,
    };
  }
  return (lane && laneConclusion(lane)) ?? ownConclusion(submission.state, wait, lane);
}

function laneConclusion({ state, reason, owner, broken, wait }: LaneStatus): Conclusion | undefined {
  const because = reason === undefined ? "" : `: ${reason}`;
  if (state === "stopped")
    return {
      why: `its lane has stopped${because}`,
      next: "Remove the cause, then run `gas-waiver lanes open`.",
    };
  if (wait) return { why: `its lane waits: ${wait.sentence}`, next: NEXT_STEPS[wait.cause] };
  if (broken) return { why: `the breaker of its lane is open${because}`, next: NEXT_STEPS.nodes };
  if (owner === undefined)
    return { why: "no replica works its lane", next: "Start a replica that has the key of this waiver." };
  return undefined;
}

function ownConclusion(
  state: "queued" | "signed" | "broadcast",
  wait: string | undefined,
  lane: LaneStatus | undefined,
): Conclusion {
  if (wait !== undefined)
    return { why: waitSentence(wait), next: isOwnWait(wait) ? NEXT_STEPS[wait] : NEXT_STEPS.nodes };
  if (state === "queued")
    return {
      why: `it waits for its turn among ${lane?.queued ?? 0} in the queue of its lane`,
      next: NOTHING,
    };
  const what =
    state === "signed"
      ? "it is signed, and goes to a node"
      : "a node has its wrapper, and it waits for a block";
  return { why: what, next: NOTHING };
}

/** A {@link SubmissionFinder} with a store of its own. */
export interface OpenSubmissionFinder extends SubmissionFinder {
  close(): Promise<void>;
}

/**
 * Opens the store of a service: by its database URL, or, while the service runs, by its data folder.
 * @param rpcUrls nodes of the chain, to find wrappers by their hashes after they are final.
 * @throws {@link StartError} if it cannot be reached, or belongs to no chain yet, or the node is on another chain.
 */
export async function openSubmissionFinder(
  location: StoreLocation,
  rpcUrls: readonly string[] = [],
): Promise<OpenSubmissionFinder> {
  const store = await openRunningStore(location);
  try {
    const known = await lastChain(store);
    if (known === undefined) throw new StartError("the store has served no chain yet");
    const chain = rpcUrls.length === 0 ? undefined : await connectNode(rpcUrls, known.identity);
    const finder = createSubmissionFinder({ store, chainRef: known.chainRef, chain });
    return { ...finder, close: () => store.close() };
  } catch (error) {
    await store.close();
    throw error;
  }
}
