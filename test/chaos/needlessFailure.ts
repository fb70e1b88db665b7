import { bytesToHex } from "@gas-waiver/protocol";
import { groupBy } from "../support/groupBy.js";
import type { ChainLoss } from "./chainLoss.js";
import type { Execution } from "./devnetClient.js";
import type { Row } from "./storeRows.js";

/** A predecessor that was accepted this shortly before the failure may not have been seen yet. */
const GRACE_MS = 1_000;
/** The time for which the runs' replicas wait for an earlier nonce (D20). */
export const NONCE_GAP_MS = 3_000;

/**
 * Finds the submissions that failed and could have been executed. The loads of the runs send nothing that breaks a rule, so
 * only these failures are justified:
 *
 * - another transaction used the sender's nonce (`NONCE_TOO_LOW`);
 * - the sender's earlier transaction did not come in time (`NONCE_GAP`);
 * - nothing was ever sent within the queue's time (`NOT_BROADCAST`), as configured;
 * - a restored chain has lost an earlier nonce of the sender.
 */
export function findNeedlessFailures(
  store: readonly Row[],
  chain: readonly Execution[],
  chainLoss: ChainLoss,
): string[] {
  const hashBySlot = new Map(chain.map((one) => [`${one.sender}:${one.senderNonce}`, one.innerHash]));
  const bySlot = groupBy(store, ({ sender, sender_nonce }) => slotOf(sender, BigInt(sender_nonce)));
  const isJustified = (row: Row): boolean => {
    const slot = slotOf(row.sender, BigInt(row.sender_nonce));
    if (chainLoss.hasBroken(bytesToHex(row.sender), Number(row.sender_nonce))) return true;
    switch (row.error_reason) {
      case "NONCE_TOO_LOW": {
        const usedBy = hashBySlot.get(slot);
        return usedBy !== undefined && usedBy !== bytesToHex(row.inner_hash);
      }
      case "NONCE_GAP":
        return !allBefore(row).every((slot) => arrivedInTime(bySlot.get(slot) ?? [], row));
      default:
        return row.error_reason === "NOT_BROADCAST";
    }
  };
  return store
    .filter((row) => row.state === "failed" && !isJustified(row))
    .map((row) => {
      const { id, error_reason, error_message, signings } = row;
      const slot = slotOf(row.sender, BigInt(row.sender_nonce));
      const described = `${id} (${slot}, signed ${signings} times, ${timesOf(row)})`;
      const siblings = store.filter(({ sender }) => sender.equals(row.sender));
      const rest = siblings.map((one) => `${one.sender_nonce} ${one.state} ${timesOf(one)}`).join("; ");
      return `${described} failed with ${error_reason}: ${error_message}. The sender's: ${rest}`;
    });
}

/** The sender's nonces before the row's. */
function allBefore({ sender, sender_nonce }: Row): string[] {
  return Array.from({ length: Number(sender_nonce) }, (_, nonce) => slotOf(sender, BigInt(nonce)));
}

/** Whether the store had an earlier transaction in time when the row failed for missing it. */
function arrivedInTime(earlier: readonly Row[], { accepted_at: since, finished_at }: Row): boolean {
  const failedAt = finished_at?.getTime() ?? 0;
  const latest = Math.min(failedAt - GRACE_MS, since.getTime() + NONCE_GAP_MS);
  return earlier.some(({ accepted_at, state, finished_at: ended }) => {
    const isKnown = accepted_at.getTime() < latest;
    return isKnown && (state !== "failed" || (ended?.getTime() ?? 0) > failedAt);
  });
}

function timesOf({ accepted_at, finished_at }: Row): string {
  return `${accepted_at.toISOString().slice(17, 23)} to ${finished_at?.toISOString().slice(17, 23)}`;
}

function slotOf(sender: Buffer, nonce: bigint): string {
  return `${bytesToHex(sender)}:${nonce}`;
}
