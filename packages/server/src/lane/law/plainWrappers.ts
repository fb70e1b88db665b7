import { bytesEqual, bytesToHex } from "@gas-waiver/protocol";
import type { NonceUse } from "../../chain/nonceUse.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import { stopWorkingLane } from "../../store/lanes/setLaneState.js";
import type { WatchContext } from "../context.js";
import type { Candidate, ChainOutcome } from "./chainOutcomes.js";
import type { Evidence } from "./law.js";

/*
 * A chain that knows no waivers takes a wrapper of price 0 as a plain transaction to the marker: the waiver's nonce is
 * used, and the InnerTx never runs. A chain that knows waivers runs the InnerTx in the same block, directly after its
 * wrapper. So a chain knows no waivers if a final block has the wrapper without its InnerTx and the sender's nonce is
 * unused. No failure is proven (D28), because another wrapper may still carry the InnerTx: the submission stays as it is.
 * But the lane must not attract more work.
 */

/** A submission that nonces contradict, and the evidence of final blocks about it. */
interface Contradicted {
  readonly candidate: Candidate;
  readonly outcome: ChainOutcome;
  readonly evidence: Evidence;
}

/** Stops a lane when a final block shows that the chain runs its wrappers as plain transactions. */
export async function stopForPlainWrappers(
  held: HeldLane,
  contradicted: readonly Contradicted[],
  {
    store,
    log,
    firstSeen,
    onLaneStopped,
  }: Pick<WatchContext, "store" | "log" | "firstSeen" | "onLaneStopped">,
): Promise<void> {
  // An operator who opens the lane again knows about those that were reported.
  const plain = contradicted.filter(
    (submission) => isPlain(submission) && firstSeen.since(nameOf(submission)) === undefined,
  );
  const [first] = plain;
  const use = first?.evidence.waiverNonceUse;
  if (first === undefined || use === undefined) return;
  const reason = reasonOf(use);
  const stopped = await stopWorkingLane(store, held, reason).catch((error: unknown) => {
    for (const submission of plain) firstSeen.forget(nameOf(submission));
    throw error;
  });
  if (!stopped) return;
  onLaneStopped();
  const ids = plain.map(({ candidate }) => candidate.id);
  log.fatal({ ids, reason }, "the lane stops: the chain does not know waivers");
}

const nameOf = ({ candidate }: Contradicted) => `plain ${candidate.id}`;

function isPlain({ candidate, outcome, evidence }: Contradicted): boolean {
  const { waiverNonceUse } = evidence;
  if (outcome.kind !== "replaced" || waiverNonceUse?.isOurs !== true) return false;
  return !waiverNonceUse.blockTransactions.some(({ hash }) => bytesEqual(hash, candidate.innerHash));
}

function reasonOf({ transaction, blockNumber }: NonceUse): string {
  const wrapper = bytesToHex(transaction.hash);
  return `the chain executed the wrapper ${wrapper} in block ${blockNumber} and not its InnerTx: it does not know waivers; point --rpc-url at a chain that does, and open the lane then`;
}
