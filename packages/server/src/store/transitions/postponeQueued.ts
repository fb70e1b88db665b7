import { type ChangedSubmission, type HeldLane, LEASE_IS_HELD, writeAsOwner } from "../lanes/heldLane.js";
import type { Store } from "../store.js";

/**
 * SQL for the day of a submission's reservation (D25), once the submission is put aside: what cannot run now and was never
 * signed holds no part of a cap. A lane reserves before it signs. @param isPutAside the parameter that says so, such as `$8`.
 */
export const releasedCap = (isPutAside: string) =>
  `case when ${isPutAside}::boolean and signings = 0 then null else cap_day end`;

/** The longest pause that grows with the age of a submission. */
const LONGEST_MS = 2_000;

/**
 * Hides queued submissions from the lane's snapshots for `afterMs`, or for an eighth of their age if that is longer, but not
 * for longer than two seconds. So a submission that waits for long is read rarely.
 * @param isAhead they are ahead of their turn, or their nonces are used: they wait unreserved ({@link releasedCap}).
 * @throws {@link LeaseLostError}
 */
export function postponeQueued(
  store: Store,
  lane: HeldLane,
  ids: readonly string[],
  afterMs: number,
  isAhead = false,
): Promise<ChangedSubmission[]> {
  return writeAsOwner(
    store,
    lane,
    ids,
    ` update unfinished set is_waiting = true, look_at = now() + interval '1 millisecond' *
        greatest($6::float8, least($7::float8, extract(epoch from now() - accepted_at) * 1000 / 8)),
        cap_day = ${releasedCap("$8")}
     where id = any($5::uuid[]) and state = 'queued' and ${LEASE_IS_HELD} returning id, origin`,
    [afterMs, LONGEST_MS, isAhead],
  );
}
