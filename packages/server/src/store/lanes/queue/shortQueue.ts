import { prepared } from "../../database/statements.js";
import type { Store } from "../../store.js";
import { toBuffer } from "../../submissionRow.js";
import type { HeldLane } from "../heldLane.js";
import {
  ASSIGNED,
  heldNonces,
  IS_SET_ASIDE,
  type LaneSnapshot,
  LONGEST_PAUSE,
  MIN_READ_PER_SENDER,
  type QueuedRow,
  type SnapshotLimits,
  type SnapshotNonces,
  sendersOf,
  snapshotNonces,
} from "./laneSnapshot.js";

/** The most submissions of a short queue. A snapshot shows at least as many of each sender. */
const MOST = MIN_READ_PER_SENDER;

/** The rows of the queue in the order of their places, each with its sender's nonces in flight and number in the queue. */
const SHORT_QUEUE = `with held_nonces as materialized (${heldNonces(4)}), assigned as (${ASSIGNED}), queue as (
    select s.* from unfinished s
    where s.chain = $1 and s.waiver = $2 and s.waiver_nonce is null and s.state = 'queued' and s.look_at >= $3::timestamptz
    limit ${MOST + 1}
  )
  select assigned.*, q.id, q.inner_raw, q.inner_hash, q.sender, q.sender_nonce, q.signings, q.strikes, q.key_id, q.is_waiting,
         extract(epoch from now() - q.accepted_at) * 1000 as age_ms, q.accepted_at, ${IS_SET_ASIDE} as is_set_aside,
         q.is_waiting and (q.look_at <= now() or q.look_at > now() + ${LONGEST_PAUSE}) as is_due,
         f.in_flight, f.queued
  from assigned left join (queue q cross join lateral (
    select array_agg(u.sender_nonce::text) filter (where u.state <> 'queued') as in_flight,
           count(*) filter (where u.state = 'queued') as queued
    from unfinished u
    where u.chain = $1 and u.sender = q.sender and u.waiver = $2 and u.state in ('queued', 'signed', 'broadcast')
  ) f) on true
  order by q.look_at, q.id`;

interface ShortQueueRow extends QueuedRow, SnapshotNonces {
  /** Null, as all columns of the queue, where nothing is queued. */
  id: string | null;
  is_due: boolean;
  /** The number of submissions that the sender has in the lane's queue. */
  queued: string;
}

/**
 * Reads the snapshot of a lane that has few submissions in its queue: the same that `readLaneSnapshot` reads, at half of its
 * cost. That query chooses among many in the database; here all are read, and chosen in this process.
 * @returns undefined if the queue is longer, or a sender or key may have nearly all places of the lane.
 */
export async function readShortQueue(
  { pool, clock }: Store,
  lane: HeldLane,
  limits: SnapshotLimits,
): Promise<LaneSnapshot | undefined> {
  const { ready, readyOfKey = ready, due, placesOfSender, queueFloor, waiverNonce = 0n } = limits;
  const { rows } = await pool.query<ShortQueueRow>(
    prepared(SHORT_QUEUE, [
      lane.chain,
      toBuffer(lane.waiver),
      queueFloor ?? "-infinity",
      waiverNonce.toString(),
    ]),
  );
  const nonces = snapshotNonces(rows[0]);
  const queue = rows.filter(({ id }) => id !== null);
  // If the lane's submissions in flight and in its queue fit into the places of one sender, no sender has too many.
  if (placesOfSender === undefined || nonces.inFlight + queue.length > placesOfSender) return undefined;
  if (queue.length > MOST || !isWhole(queue)) return undefined;
  const readyTurns = turnsOf(
    queue.filter((row) => !row.is_waiting),
    readyOfKey,
  ).slice(0, ready);
  const dueTurns = turnsOf(queue.filter((row) => row.is_due)).slice(0, due);
  const chosen = new Map(
    [...readyTurns, ...dueTurns.map(({ row, turn }) => ({ row, turn: turn + ready }))].map(
      ({ row, turn }) => [row, turn],
    ),
  );
  const shown = inOrder(queue, chosen).slice(0, 2 * ready);
  const keyIds = queue.map(({ key_id }) => key_id).sort();
  return {
    ...nonces,
    ready: readyTurns.length,
    hasMoreReady: readyTurns.length >= ready || (readyTurns.at(-1)?.turn ?? 0) >= readyOfKey,
    keyIds: keyIds.length === 0 ? [] : [keyIds[0] ?? "", keyIds.at(-1) ?? ""],
    due: dueTurns.length,
    inFlightOfKeys: new Map(shown.map(({ key_id }) => [key_id, 0])),
    senders: sendersOf(shown, clock),
    isWhole: shown.length === queue.length,
  };
}

/** Whether everything that the senders have in the lane's queue was read: nothing of theirs is below the queue's floor. */
function isWhole(queue: readonly ShortQueueRow[]): boolean {
  const read = new Map<string, number>();
  for (const row of queue) read.set(senderOf(row), (read.get(senderOf(row)) ?? 0) + 1);
  return queue.every((row) => read.get(senderOf(row)) === Number(row.queued));
}

const senderOf = ({ sender }: ShortQueueRow) => sender.toString("hex");

interface Turn {
  readonly row: ShortQueueRow;
  readonly turn: number;
}

/** Numbers the rows of each API key, in their order. The first of each key come first, then the second of each, and so on. */
function turnsOf(rows: readonly ShortQueueRow[], mostOfKey = Number.POSITIVE_INFINITY): Turn[] {
  const turns = new Map<string, number>();
  return rows
    .map((row) => {
      const turn = (turns.get(row.key_id) ?? 0) + 1;
      turns.set(row.key_id, turn);
      return { row, turn };
    })
    .filter(({ turn }) => turn <= mostOfKey)
    .sort((a, b) => a.turn - b.turn);
}

/** All rows of the senders of which one is chosen, in the order in which they go. A nonce goes no later than any higher one. */
function inOrder(
  queue: readonly ShortQueueRow[],
  chosen: ReadonlyMap<ShortQueueRow, number>,
): ShortQueueRow[] {
  const senders = new Set([...chosen.keys()].map(senderOf));
  const nonceOf = ({ sender_nonce }: ShortQueueRow) => BigInt(sender_nonce);
  const turnOf = (row: ShortQueueRow) =>
    Math.min(
      ...queue
        .filter((other) => other.sender.equals(row.sender) && nonceOf(other) >= nonceOf(row))
        .map((other) => chosen.get(other) ?? Number.POSITIVE_INFINITY),
    );
  return queue
    .filter((row) => senders.has(senderOf(row)))
    .map((row) => ({ row, turn: turnOf(row) }))
    .sort(
      (a, b) =>
        compare(a.turn, b.turn) ||
        a.row.sender.compare(b.row.sender) ||
        compare(nonceOf(a.row), nonceOf(b.row)),
    )
    .map(({ row }) => row);
}

const compare = <T extends number | bigint>(a: T, b: T) => (a < b ? -1 : a > b ? 1 : 0);
