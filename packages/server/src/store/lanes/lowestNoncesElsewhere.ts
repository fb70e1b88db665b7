import type { Store } from "../store.js";
import { toBuffer } from "../submissionRow.js";
import type { HeldLane } from "./heldLane.js";

/**
 * Finds the lowest sender nonce that an unfinished submission holds outside what this lane has signed: in another lane,
 * or queued here. Keyed by the sender in hex without 0x.
 * @param except ids of submissions that do not count.
 */
export async function findLowestNoncesElsewhere(
  { pool }: Store,
  lane: Pick<HeldLane, "chain" | "waiver">,
  { senders, except }: { readonly senders: readonly Uint8Array[]; readonly except: readonly string[] },
): Promise<ReadonlyMap<string, bigint>> {
  const { rows } = await pool.query<{ sender: Buffer; lowest: string }>(
    `select sender, min(sender_nonce) as lowest from unfinished
     where chain = $1 and sender = any($3::bytea[]) and state <> 'included' and id <> all($4::uuid[])
       and (waiver <> $2 or state = 'queued')
     group by sender`,
    [lane.chain, toBuffer(lane.waiver), senders.map(toBuffer), except],
  );
  return new Map(rows.map(({ sender, lowest }) => [sender.toString("hex"), BigInt(lowest)]));
}
