import { byteaArray } from "../database/statements.js";
import { type ChangedSubmission, type HeldLane, writeAsOwner } from "../lanes/heldLane.js";
import { isAboveFloor, lowerNonceFloor } from "../lanes/nonces/nonceFloor.js";
import type { Store } from "../store.js";

/** A queued submission with the waiver nonce that it gets, and its signed WrapperTx. */
export interface SignedSubmission {
  readonly id: string;
  /** The number of wrappers that were signed for it, this one included. */
  readonly signings: number;
  readonly waiverNonce: bigint;
  readonly wrapperHash: Uint8Array;
  readonly wrapperRaw: Uint8Array;
  /** The height of the chain, if it is known. */
  readonly head?: bigint | undefined;
}

/**
 * queued → signed: stores the waiver nonces and the signed bytes, before anything is sent. A submission moves only if the
 * lane still has it, no other wrapper was signed since the read, and what it takes of a daily cap is reserved. So the next send is
 * the first one.
 * @returns the submissions that moved.
 * @throws {@link LeaseLostError}
 */
export async function saveSigned(
  store: Store,
  lane: HeldLane,
  signed: readonly SignedSubmission[],
): Promise<ChangedSubmission[]> {
  if (signed.length === 0) return [];
  const lowest = signed.map((s) => s.waiverNonce).reduce((a, b) => (a < b ? a : b));
  for (;;) {
    const saved = await saveAboveFloor(store, lane, signed);
    if (saved.length > 0 || !(await lowerNonceFloor(store, lane, lowest))) return saved;
  }
}

/** Moves nothing while the lane's floor is above one of the nonces. */
function saveAboveFloor(
  store: Store,
  lane: HeldLane,
  signed: readonly SignedSubmission[],
): Promise<ChangedSubmission[]> {
  return writeAsOwner(
    store,
    lane,
    signed.map((s) => s.id),
    ` update unfinished s
      set state = 'signed', waiver_nonce = n.nonce, wrapper_hash = n.hash, wrapper_raw = n.raw,
          signed_at = now(), signings = n.signings, since_block = coalesce(s.since_block, n.head)
      from unnest($5::uuid[], $6::bigint[], $7::bytea[], $8::bytea[], $9::integer[], $10::bigint[])
        as n (submission, nonce, hash, raw, signings, head)
      where s.id = n.submission and s.state = 'queued' and s.waiver = $2 and s.signings = n.signings - 1
        and (s.cap_gas is null or s.cap_day is not null) and ${isAboveFloor(6)} returning s.id, s.origin`,
    [
      signed.map((s) => s.waiverNonce.toString()),
      byteaArray(signed.map((s) => s.wrapperHash)),
      byteaArray(signed.map((s) => s.wrapperRaw)),
      signed.map((s) => s.signings),
      signed.map((s) => s.head?.toString()),
    ],
  );
}
