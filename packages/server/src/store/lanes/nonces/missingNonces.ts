import { readRows } from "../../database/statements.js";
import type { Store } from "../../store.js";
import type { HeldLane } from "../heldLane.js";

/**
 * Finds the lowest sender nonce, from the sender's next one on, that a submission holds outside what this lane has signed: it
 * is in another lane, queued here, or included in a block that the node's answer did not count. Keyed by the sender in hex
 * without 0x.
 * @param next the sender's next nonce by the node's last answer.
 * @param except ids of submissions that do not count.
 */
export async function findLowestNoncesElsewhere(
  { pool }: Store,
  lane: Pick<HeldLane, "chain" | "waiver">,
  {
    senders,
    except,
  }: {
    readonly senders: readonly { readonly sender: Uint8Array; readonly next: bigint }[];
    readonly except: readonly string[];
  },
): Promise<ReadonlyMap<string, bigint>> {
  if (senders.length === 0) return new Map();
  const rows = await readRows<{ sender: Buffer; lowest: bigint }>(
    pool,
    `select n.sender, min(held.sender_nonce) as lowest
     from unnest($3::bytea[], $4::numeric[]) as n (sender, next) cross join lateral (
       select u.sender_nonce from unfinished u
       where u.chain = $1 and u.sender = n.sender and u.sender_nonce >= n.next and u.id <> all($5::uuid[])
         and (u.waiver <> $2 or u.state in ('queued', 'included'))
       union all
       select f.sender_nonce from finished f
       where f.chain = $1 and f.sender = n.sender and f.sender_nonce >= n.next and f.state = 'included'
         and f.id >= recent_outcomes()
       union all
       -- The highest of the summarized days: what came days ago may be included only now.
       select o.next - 1 from sender_nonces o where o.chain = $1 and o.sender = n.sender and o.next > n.next
     ) held group by n.sender`,
    [
      lane.chain,
      lane.waiver,
      senders.map(({ sender }) => sender),
      senders.map(({ next }) => next.toString()),
      except,
    ],
  );
  return new Map(rows.map(({ sender, lowest }) => [sender.toString("hex"), lowest]));
}

/** A queued submission, and the nonce of its sender that is missing before it. */
export interface MissingNonce {
  readonly id: string;
  readonly missing: bigint;
}

/**
 * Finds the failed submissions that had the missing nonces, for the same API key and sender: the last one for each.
 * @returns their ids, by the ids of the submissions that wait.
 */
export async function findFailedPredecessors(
  { pool }: Store,
  gaps: readonly MissingNonce[],
): Promise<ReadonlyMap<string, string>> {
  const parameters = [gaps.map(({ id }) => id), gaps.map(({ missing }) => missing.toString())];
  const rows = await readRows<{ id: string; failed: string }>(pool, FAILED_PREDECESSORS, parameters);
  return new Map(rows.map(({ id, failed }) => [id, failed]));
}

const FAILED_PREDECESSORS = `select distinct on (u.id) u.id, f.id as failed
  from unnest($1::uuid[], $2::numeric[]) as gap (id, missing) join unfinished u on u.id = gap.id
  cross join lateral (
    select f.id from finished f where f.chain = u.chain and f.key_id = u.key_id and f.sender = u.sender and f.state = 'failed'
      and f.sender_nonce = gap.missing and f.id >= recent_outcomes() offset 0
  ) f
  order by u.id, f.id desc`;
