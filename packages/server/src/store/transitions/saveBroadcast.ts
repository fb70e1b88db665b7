import { byteaArray } from "../database/statements.js";
import { type ChangedSubmission, type HeldLane, LEASE_IS_HELD, writeAsOwner } from "../lanes/heldLane.js";
import type { Store } from "../store.js";

/** A wrapper that a node has taken. Its submission may carry another wrapper by now; then nothing changes. */
export interface BroadcastWrapper {
  readonly id: string;
  /** 32 bytes. */
  readonly wrapperHash: Uint8Array;
  /** The time in ms since a node took it; 0 by default. */
  readonly ageMs?: number;
}

/**
 * signed → broadcast: a node has taken the wrappers. A submission that is broadcast already gets a new `broadcast_at`.
 * @returns the submissions that are broadcast now.
 * @throws {@link LeaseLostError}
 */
export function saveBroadcast(
  store: Store,
  lane: HeldLane,
  broadcast: readonly BroadcastWrapper[],
): Promise<ChangedSubmission[]> {
  return writeAsOwner(
    store,
    lane,
    broadcast.map((b) => b.id),
    ` update unfinished s set state = 'broadcast', broadcast_at = now() - b.age * interval '1 millisecond'
      from unnest($5::uuid[], $6::bytea[], $7::float8[]) as b (submission, hash, age)
      where s.id = b.submission and s.wrapper_hash = b.hash and s.state in ('signed', 'broadcast') and ${LEASE_IS_HELD}
      returning s.id, s.origin`,
    [byteaArray(broadcast.map((b) => b.wrapperHash)), broadcast.map(({ ageMs = 0 }) => ageMs)],
  );
}
