import type { Store } from "../store.js";
import { toBuffer } from "../submissionRow.js";

/** Opens a lane's breaker for `forMs`: no new work goes to the lane. With 0, closes it. */
export async function setBreaker(
  { pool }: Store,
  chain: number,
  waiver: Uint8Array,
  forMs: number,
  reason: string | undefined,
): Promise<void> {
  await pool.query(
    `update lanes set broken_until = now() + $3::float8 * interval '1 millisecond', reason = $4
     where chain = $1 and waiver = $2 and state in ('open', 'draining')`,
    [chain, toBuffer(waiver), forMs, reason ?? null],
  );
}
