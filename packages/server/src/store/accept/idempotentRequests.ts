import { type ErrorValues, isReason, type Reason } from "@gas-waiver/protocol";
import type { Queryable } from "../store.js";

/** A request with an `Idempotency-Key` (D18). */
export interface IdempotentRequest {
  readonly chain: number;
  readonly keyId: string;
  /** SHA-256 of the `Idempotency-Key`. */
  readonly idempotencyKeyHash: Uint8Array;
  /** SHA-256 of the transactions. */
  readonly bodyHash: Uint8Array;
}

/** The outcomes of a request's transactions so far. */
export interface Decisions {
  /** SHA-256 of the transactions of the first request with this key. */
  readonly bodyHash: Uint8Array;
  /** One id for each transaction. A decided transaction has the id of its submission, or of its refused line. */
  readonly ids: readonly string[];
  /** The number of transactions, from the first on, that are accepted or refused. */
  readonly decided: number;
  /** Keyed by position in the request. */
  readonly refusals: Readonly<Record<number, Refusal>>;
}

/** The values are for the error's details. */
export type Refusal = readonly [reason: Reason, message: string, values: ErrorValues];

interface Row {
  body_hash: Buffer;
  ids: string[];
  decided: number;
  refusals: Record<number, [string, string, ErrorValues]>;
}

/** Finds the decisions of a request with this key that is not forgotten: it came after that time. */
export async function findIdempotentRequest(
  db: Queryable,
  { chain, keyId, idempotencyKeyHash }: IdempotentRequest,
  forgotten: Date,
): Promise<Decisions | undefined> {
  const { rows } = await db.query<Row>(
    `select body_hash, ids, decided, refusals from keyed_requests
     where chain = $1 and key_id = $2 and name_hash = $3 and created_at >= $4`,
    [chain, keyId, idempotencyKeyHash, forgotten],
  );
  return rows[0] && decisionsOf(rows[0]);
}

/**
 * Inserts the record of a request, or reads the one that exists, and locks it until the transaction ends. Nobody else
 * can decide anything of the request until then.
 * @param ids for the transactions of a new record.
 * @param forgotten a record from before this time does not count.
 */
export async function lockIdempotentRequest(
  db: Queryable,
  { chain, keyId, idempotencyKeyHash, bodyHash }: IdempotentRequest,
  ids: readonly string[],
  forgotten: Date,
): Promise<Decisions> {
  const name = [chain, keyId, idempotencyKeyHash];
  await db.query(
    `delete from keyed_requests
     where chain = $1 and key_id = $2 and name_hash = $3 and created_at < $4`,
    [...name, forgotten],
  );
  const { rows } = await db.query<Row>(
    `insert into keyed_requests as known (chain, key_id, name_hash, body_hash, ids) values ($1, $2, $3, $4, $5)
     -- An update that changes nothing locks the row.
     on conflict (chain, key_id, name_hash) do update set decided = known.decided
     returning body_hash, ids, decided, refusals`,
    [...name, bodyHash, ids],
  );
  if (rows[0] === undefined) throw new Error("the database returned no row for the request");
  return decisionsOf(rows[0]);
}

/** Stores decisions, within the transaction of {@link lockIdempotentRequest}. */
export async function saveDecisions(
  db: Queryable,
  { chain, keyId, idempotencyKeyHash }: IdempotentRequest,
  { ids, decided, refusals }: Omit<Decisions, "bodyHash">,
): Promise<void> {
  await db.query(
    `update keyed_requests set ids = $4, decided = $5, refusals = $6
     where chain = $1 and key_id = $2 and name_hash = $3`,
    [chain, keyId, idempotencyKeyHash, ids, decided, JSON.stringify(refusals)],
  );
}

/** Deletes at most `limit` requests that came before `forgotten`. @returns how many it deleted. */
export async function forgetIdempotentRequests(
  db: Queryable,
  forgotten: Date,
  limit: number,
): Promise<number> {
  const { rowCount } = await db.query(
    `delete from keyed_requests where (chain, key_id, name_hash) in (
       select chain, key_id, name_hash from keyed_requests
       where created_at < $1
       order by created_at limit $2 for update skip locked)`,
    [forgotten, limit],
  );
  return rowCount ?? 0;
}

function decisionsOf({ body_hash: bodyHash, ids, decided, refusals }: Row): Decisions {
  const known = Object.entries(refusals).map(([position, [reason, message, values]]) => {
    if (!isReason(reason)) throw new Error(`a request was refused for ${reason}, which is not a reason`);
    return [position, [reason, message, values]] as const;
  });
  return { bodyHash, ids, decided, refusals: Object.fromEntries(known) };
}
