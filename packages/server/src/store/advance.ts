import type { Failure, Inclusion } from "../model/submission.js";
import { FAILED_COLUMNS, finishStatement } from "./finish.js";
import { type ChangedSubmission, type HeldLane, LEASE_IS_HELD, writeAsOwner } from "./lease.js";
import { byteaArray } from "./parameters.js";
import type { Store } from "./store.js";

// Every step of a submission after it was accepted (see TRANSITIONS), each guarded by the lane's epoch and by the
// state before. Each returns the submissions that took the step; it throws LaneLostError if the lane is not ours.

/** A submission with the waiver nonce that it gets, and its signed WrapperTx. */
export interface SignedSubmission {
  readonly id: string;
  readonly waiverNonce: bigint;
  readonly wrapperHash: Uint8Array;
  readonly wrapperRaw: Uint8Array;
}

/** What a node has taken, by the bytes that it took: a submission may have been signed anew since. */
type Broadcast = Pick<SignedSubmission, "id" | "wrapperHash">;

/** The submissions that took a step each. */
export interface SavedSigned {
  readonly signed: readonly ChangedSubmission[];
  readonly broadcast: readonly ChangedSubmission[];
}

const BROADCAST = (ids: number) => `update unfinished s set state = 'broadcast', broadcast_at = now()
  from unnest($${ids}::uuid[], $${ids + 1}::bytea[]) as b (submission, hash)
  where s.id = b.submission and s.wrapper_hash = b.hash and s.state in ('signed', 'broadcast') and ${LEASE_IS_HELD}
  returning s.id, s.origin, s.state`;

/**
 * queued → signed: the nonces and the signed bytes in one write, before anything is sent; with it the step
 * signed → broadcast of `broadcast`, as {@link saveBroadcast} has it.
 */
export async function saveSigned(
  store: Store,
  lane: HeldLane,
  signed: readonly SignedSubmission[],
  broadcast: readonly Broadcast[] = [],
): Promise<SavedSigned> {
  if (signed.length === 0) return { signed: [], broadcast: await saveBroadcast(store, lane, broadcast) };
  const moved: (ChangedSubmission & { readonly state: string })[] = await writeAsOwner(
    store,
    lane,
    signed.map((s) => s.id),
    `, broadcast as (${BROADCAST(9)}), signed as (
       update unfinished s
       set state = 'signed', waiver = $2, waiver_nonce = n.nonce, wrapper_hash = n.hash, wrapper_raw = n.raw,
           signed_at = now(), signings = signings + 1
       from unnest($5::uuid[], $6::bigint[], $7::bytea[], $8::bytea[]) as n (submission, nonce, hash, raw)
       where s.id = n.submission and s.state = 'queued' and ${LEASE_IS_HELD} returning s.id, s.origin, s.state
     ) select * from signed union all select * from broadcast`,
    [
      signed.map((s) => s.waiverNonce.toString()),
      byteaArray(signed.map((s) => s.wrapperHash)),
      byteaArray(signed.map((s) => s.wrapperRaw)),
      broadcast.map((b) => b.id),
      byteaArray(broadcast.map((b) => b.wrapperHash)),
    ],
  );
  const of = (state: string) => moved.filter((one) => one.state === state);
  return { signed: of("signed"), broadcast: of("broadcast") };
}

/** signed → broadcast: a node took them; or broadcast ones were taken again. */
export function saveBroadcast(
  store: Store,
  lane: HeldLane,
  broadcast: readonly Broadcast[],
): Promise<ChangedSubmission[]> {
  return writeAsOwner(
    store,
    lane,
    broadcast.map((b) => b.id),
    ` ${BROADCAST(5)}`,
    [byteaArray(broadcast.map((b) => b.wrapperHash))],
  );
}

/**
 * Before its nonce is given to another: the wrapper that a submission had. It may land after all, in a pool that was
 * thought to have lost it, and then it was ours that used the nonce; or stand in the way of the next one.
 * @param ids of the submissions, as a query.
 */
const withdrawing = (ids: string) => `, withdrawing as (
  insert into withdrawn (chain, waiver, waiver_nonce, wrapper_hash)
  select chain, waiver, waiver_nonce, wrapper_hash from unfinished
  where id in (${ids}) and state in ('signed', 'broadcast') and ${LEASE_IS_HELD}
  on conflict do nothing
)`;

const WITHDRAWN = withdrawing("select unnest($5::uuid[])");

/**
 * signed or broadcast → queued: their wrappers surely will not land. Their waiver nonces are free again; they
 * are looked at after `afterMs`.
 */
export function saveRequeued(
  store: Store,
  lane: HeldLane,
  ids: readonly string[],
  afterMs: number,
): Promise<ChangedSubmission[]> {
  return writeAsOwner(
    store,
    lane,
    ids,
    `${WITHDRAWN}
     update unfinished
     set state = 'queued', waiver_nonce = null, wrapper_hash = null, wrapper_raw = null, signed_at = null,
         broadcast_at = null, look_at = now() + $6 * interval '1 millisecond'
     where id = any($5::uuid[]) and state in ('signed', 'broadcast') and ${LEASE_IS_HELD} returning id, origin`,
    [afterMs],
  );
}

type Included = Inclusion & { readonly id: string; readonly foreign: boolean };

/**
 * queued, signed or broadcast → included: the InnerTx is in a block, for good if `final`. A `foreign` one was carried
 * by another wrapper than the one that is stored, whose waiver nonce is free again.
 */
export function saveIncluded(
  store: Store,
  lane: HeldLane,
  included: readonly Included[],
  final: boolean,
): Promise<ChangedSubmission[]> {
  return writeAsOwner(
    store,
    lane,
    included.map((i) => i.id),
    final ? INCLUDED_FOR_GOOD : INCLUDED_FOR_NOW,
    [
      included.map((i) => i.blockNumber.toString()),
      byteaArray(included.map((i) => i.blockHash)),
      included.map((i) => i.gasUsed.toString()),
      included.map((i) => i.reverted),
      included.map((i) => i.foreign),
    ],
  );
}

const INCLUSIONS = `unnest($5::uuid[], $6::bigint[], $7::bytea[], $8::bigint[], $9::boolean[], $10::boolean[])
  as n (submission, number, hash, gas, has_reverted, other_wrapper)`;
const IN_A_BLOCK = `s.id = n.submission and s.state in ('queued', 'signed', 'broadcast') and ${LEASE_IS_HELD}`;

/** The wrappers of those that another one carried. */
const SPARE = withdrawing(
  "select submission from unnest($5::uuid[], $10::boolean[]) as n (submission, other_wrapper) where other_wrapper",
);

const INCLUDED_FOR_NOW = `${SPARE} update unfinished s
  set state = 'included', block_number = n.number, block_hash = n.hash, gas_used = n.gas, reverted = n.has_reverted,
      broadcast_at = coalesce(broadcast_at, now()), included_at = now(),
      waiver_nonce = case when not n.other_wrapper then waiver_nonce end,
      wrapper_hash = case when not n.other_wrapper then wrapper_hash end,
      wrapper_raw = case when not n.other_wrapper then wrapper_raw end
  from ${INCLUSIONS} where ${IN_A_BLOCK} returning id, origin`;

const INCLUDED_FOR_GOOD = `${SPARE}${finishStatement(
  `using ${INCLUSIONS} where ${IN_A_BLOCK} returning s.*, n.*`,
  {
    state: "'included'",
    waiver_nonce: "case when not other_wrapper then waiver_nonce end",
    wrapper_hash: "case when not other_wrapper then wrapper_hash end",
    block_number: "number",
    block_hash: "hash",
    gas_used: "gas",
    reverted: "has_reverted",
    broadcast_at: "coalesce(broadcast_at, now())",
    included_at: "now()",
  },
)}`;

/**
 * included → broadcast: a reorg took the block away, and the wrapper can land again; or → queued, if it was a wrapper
 * that is not ours.
 */
export function saveReorged(
  store: Store,
  lane: HeldLane,
  ids: readonly string[],
): Promise<ChangedSubmission[]> {
  return writeAsOwner(
    store,
    lane,
    ids,
    ` update unfinished
     set state = case when waiver_nonce is null then 'queued' else 'broadcast' end::submission_state,
         block_number = null, block_hash = null, gas_used = null, reverted = null,
         broadcast_at = case when waiver_nonce is null then null else '-infinity'::timestamptz end,
         look_at = now(), included_at = null
     where id = any($5::uuid[]) and state = 'included' and ${LEASE_IS_HELD} returning id, origin`,
  );
}

/** included, for good: their blocks are deep enough, nothing will take them out again. */
export function saveFinal(
  store: Store,
  lane: HeldLane,
  ids: readonly string[],
): Promise<ChangedSubmission[]> {
  return writeAsOwner(store, lane, ids, FINAL);
}

const FINAL = finishStatement(
  `where s.id = any($5::uuid[]) and s.state = 'included' and ${LEASE_IS_HELD} returning s.*`,
  {},
);

/** queued, signed or broadcast → failed, for good. A waiver nonce that it held is free again. */
export function saveFailed(
  store: Store,
  lane: HeldLane,
  failed: readonly (Failure & { readonly id: string })[],
): Promise<ChangedSubmission[]> {
  return writeAsOwner(
    store,
    lane,
    failed.map((f) => f.id),
    FAILED,
    [failed.map((f) => f.reason), failed.map((f) => f.message)],
  );
}

const FAILED = `${WITHDRAWN}${finishStatement(
  `using unnest($5::uuid[], $6::text[], $7::text[]) as n (submission, reason, message)
   where s.id = n.submission and s.state in ('queued', 'signed', 'broadcast') and ${LEASE_IS_HELD} returning s.*, n.*`,
  { ...FAILED_COLUMNS, error_reason: "reason", error_message: "message" },
)}`;
