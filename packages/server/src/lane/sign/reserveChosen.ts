import { bytesToHex, decodeInnerTx } from "@gas-waiver/protocol";
import { reserveCaps } from "../../store/keys/reserveCaps.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import type { QueuedSubmission } from "../../store/lanes/queue/laneSnapshot.js";
import type { LaneContext } from "../context.js";
import { decide } from "../law/law.js";
import { failSubmissions } from "../law/reconcile.js";

interface Reserved {
  /** Those that may be signed, in their order. */
  readonly chosen: readonly QueuedSubmission[];
  /** The ids of those that have failed, because a cap has no room for them. */
  readonly failed: readonly string[];
  /** Somebody holds the caps of their keys, or a lower nonce of their senders is not signed. */
  readonly left: readonly QueuedSubmission[];
}

/** Reserves the daily caps (D25) of what waited for its turn unreserved, and fails what does not fit any more. */
export async function reserveChosen(
  held: HeldLane,
  chosen: readonly QueuedSubmission[],
  context: LaneContext,
): Promise<Reserved> {
  const waiting = chosen.filter(({ isUnreserved }) => isUnreserved);
  if (waiting.length === 0) return { chosen, failed: [], left: [] };
  const unreserved = waiting.map(({ id, keyId, innerRaw }) => {
    return { id, keyId, gasLimit: decodeInnerTx(innerRaw).gasLimit };
  });
  const results = await reserveCaps(context.store, unreserved);
  const failed = [...results].flatMap(([id, failure]) => {
    if (failure === undefined) return [];
    // It was never signed: nothing else waits unreserved.
    const expiry = { kind: "cap reached", failure } as const;
    const decision = decide({ state: "queued", openWrappers: 0, expiry });
    return decision.move === "fail" ? [{ id, ...decision.failure, condition: "queued" as const }] : [];
  });
  await failSubmissions(held, failed, context);
  const failedIds = new Set(failed.map(({ id }) => id));
  const stopped = new Set<string>();
  const mayBeSigned = ({ id, isUnreserved, sender: bytes }: QueuedSubmission) => {
    const sender = bytesToHex(bytes);
    const isReserved = !isUnreserved || (results.has(id) && !failedIds.has(id));
    if (!isReserved) stopped.add(sender);
    return !stopped.has(sender);
  };
  const signable = chosen.filter(mayBeSigned);
  const signableIds = new Set(signable.map(({ id }) => id));
  const left = chosen.filter(({ id }) => !signableIds.has(id) && !failedIds.has(id));
  return { chosen: signable, failed: [...failedIds], left };
}
