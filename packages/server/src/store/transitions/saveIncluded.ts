import type { Carrier, Inclusion } from "../../model/submission/submission.js";
import { byteaArray } from "../database/statements.js";
import { type ChangedSubmission, type HeldLane, LEASE_IS_HELD, writeAsOwner } from "../lanes/heldLane.js";
import type { Store } from "../store.js";
import { finishStatement } from "./finishStatement.js";
import { withdrawing } from "./withdrawStatement.js";

export type IncludedSubmission = Inclusion & {
  readonly id: string;
  /**
   * The wrapper that carried the InnerTx: the stored one (`own`), or another one. Then the waiver nonce of the stored one is
   * free again, and the record names the other one if it is of a lane of this store.
   */
  readonly carriedBy: "own" | Carrier | "unknown";
  /** The time in ms since a node took the wrapper, if the store may not know. */
  readonly broadcastAgeMs?: number | undefined;
};

/** A submission that is now in a block. */
export interface IncludedRow extends ChangedSubmission {
  readonly keyId: string;
  /** The signed InnerTx, if it reverted. */
  readonly revertedRaw: Uint8Array | null;
}

/**
 * queued, signed or broadcast → included: the InnerTx is in a block.
 * @param final no reorg can take the block away any more; the rows move to `finished`.
 * @throws {@link LeaseLostError}
 */
export function saveIncluded(
  store: Store,
  lane: HeldLane,
  included: readonly IncludedSubmission[],
  final: boolean,
): Promise<IncludedRow[]> {
  const carriers = included.map(({ carriedBy }) => (typeof carriedBy === "object" ? carriedBy : undefined));
  return writeAsOwner<IncludedRow>(
    store,
    lane,
    included.map((i) => i.id),
    final ? INCLUDED_FINALLY : INCLUDED,
    [
      included.map((i) => i.blockNumber.toString()),
      byteaArray(included.map((i) => i.blockHash)),
      included.map((i) => i.gasUsed.toString()),
      included.map((i) => i.reverted),
      included.map((i) => i.carriedBy !== "own"),
      byteaArray(carriers.map((carrier) => carrier?.waiver)),
      carriers.map((carrier) => carrier?.waiverNonce.toString()),
      byteaArray(carriers.map((carrier) => carrier?.wrapperHash)),
      included.map(({ broadcastAgeMs }) => broadcastAgeMs),
    ],
  );
}

/** `carrier` is null where the store has no lane of the waiver. */
const INCLUSIONS = `(
    select i.*, l.waiver as carrier
    from unnest($5::uuid[], $6::bigint[], $7::bytea[], $8::bigint[], $9::boolean[], $10::boolean[], $11::bytea[],
                $12::bigint[], $13::bytea[], $14::float8[])
      as i (submission, number, hash, gas, has_reverted, other_wrapper, by_waiver, by_nonce, by_hash,
            broadcast_age)
      left join lanes l on l.chain = $1 and l.waiver = i.by_waiver
  ) n`;
/** A cause is looked for where the InnerTx reverted. */
const REVERTED_COLUMNS = `, key_id as "keyId", case when has_reverted then inner_raw end as "revertedRaw"`;
const IS_UNSETTLED = `s.id = n.submission and s.state in ('queued', 'signed', 'broadcast') and ${LEASE_IS_HELD}`;

const BROADCAST_AT = "coalesce(broadcast_at, now() - broadcast_age * interval '1 millisecond', now())";

const CARRIED_BY_ANOTHER =
  "select submission from unnest($5::uuid[], $10::boolean[]) as n (submission, other_wrapper) where other_wrapper";

/** The stored wrapper of a submission that another carried may land after all, if a reorg takes the other's block away. */
const INCLUDED = `${withdrawing(CARRIED_BY_ANOTHER, "true")} update unfinished s
  set state = 'included', block_number = n.number, block_hash = n.hash, gas_used = n.gas, reverted = n.has_reverted,
      broadcast_at = ${BROADCAST_AT}, included_at = now(),
      waiver_nonce = case when not n.other_wrapper then waiver_nonce end,
      wrapper_hash = case when not n.other_wrapper then wrapper_hash end,
      wrapper_raw = case when not n.other_wrapper then wrapper_raw end,
      carrier_waiver = n.carrier, carrier_nonce = case when n.carrier is not null then n.by_nonce end,
      carrier_hash = case when n.carrier is not null then n.by_hash end
  from ${INCLUSIONS} where ${IS_UNSETTLED} returning id, origin${REVERTED_COLUMNS}`;

const INCLUDED_FINALLY = `${withdrawing(CARRIED_BY_ANOTHER)}${finishStatement(
  `using ${INCLUSIONS} where ${IS_UNSETTLED} returning s.*, n.*`,
  {
    state: "'included'",
    waiver: "coalesce(carrier, waiver)",
    waiver_nonce: "case when not other_wrapper then waiver_nonce when carrier is not null then by_nonce end",
    wrapper_hash: "case when not other_wrapper then wrapper_hash when carrier is not null then by_hash end",
    block_number: "number",
    block_hash: "hash",
    gas_used: "gas",
    reverted: "has_reverted",
    broadcast_at: BROADCAST_AT,
    included_at: "now()",
  },
  REVERTED_COLUMNS,
)}`;
