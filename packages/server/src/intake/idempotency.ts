import { createHash } from "node:crypto";
import { bytesEqual, bytesToHex, IDEMPOTENCY_KEY, ProtocolError } from "@gas-waiver/protocol";
import { type LimitedCaller, ownerOf, partyOf } from "../model/keys/caller.js";
import { PRICES } from "../model/prices.js";
import type { LineSource } from "../results/resultLine.js";
import { CompetitorGoneError } from "../store/accept/accept.js";
import { acceptOfKey } from "../store/accept/acceptAll.js";
import type { Accept } from "../store/accept/groupAccepts.js";
import {
  type Decisions,
  findIdempotentRequest,
  type IdempotentRequest,
  lockIdempotentRequest,
  saveDecisions,
} from "../store/accept/idempotentRequests.js";
import type { NewSubmission } from "../store/accept/newSubmission.js";
import { inTransaction, isTransactionConflict } from "../store/database/transaction.js";
import type { Queryable, Store } from "../store/store.js";
import { findSubmissions } from "../store/submissions/findSubmissions.js";
import { Ledger, type Terms } from "../util/ledger.js";
import type { LoopQueue } from "../util/loopQueue.js";
import { WorkQueue } from "../util/workQueue.js";
import { slicesOf } from "./slices.js";

/**
 * Makes requests with an idempotency key safe to repeat (D18). Each transaction is decided once, in the same database
 * transaction that accepts it. A repeated request, on whichever replica, waits for that commit and finds the decision. A
 * crash leaves both or neither, and the repeated request goes on where the first one stopped.
 */
export type Idempotency = ReturnType<typeof createIdempotency>;

/** The transactions of a request from index `from` to `to`, without `to`. */
export interface SliceRange {
  /** The ids for all transactions of the request, to be used if no request came before under the same key. */
  readonly ids: readonly string[];
  readonly from: number;
  readonly to: number;
  /** The lines of all transactions before `from`, if none was valid and the store was not told; else empty. */
  readonly refused: readonly LineSource[];
}

/** Writes the slice's transactions from index `start` on, under these ids of the whole request. */
export type WriteSlice = (accept: Accept, ids: readonly string[], start: number) => Promise<SliceOutcome>;

/** A submission that was accepted just now. */
export interface AcceptedSubmission {
  /** The waiver of its lane: 20 bytes. */
  readonly waiver: Uint8Array;
  readonly submission: NewSubmission;
  /** The lane has it already: it has signed its wrapper. */
  readonly isSigned: boolean;
}

export interface SliceOutcome {
  /** One for each transaction that was written, in their order. */
  readonly lineSources: readonly LineSource[];
  readonly accepted: readonly AcceptedSubmission[];
}

export interface DecidedSlice extends SliceOutcome {
  /** The ids of the first request that came under this key. */
  readonly ids: readonly string[];
}

export interface IdempotencyDependencies {
  readonly store: Store;
  /** Requests can be repeated for this long. */
  readonly retentionMs: number;
  readonly place: { readonly chain: number; readonly origin: string };
}

/**
 * Each database transaction holds a connection for accepting (4 by default) for a few round trips, and leaves one to requests without
 * such a key.
 */
const MAX_TRANSACTIONS = 3;
/** Those of one API key, which leave one to the others: a request that waits for another with the same idempotency key holds its connection. */
const MAX_TRANSACTIONS_OF_KEY = 2;
/**
 * The transactions of requests of one API key that accept nothing and are kept all the same, such as known ones: at most 180,000 rows a
 * day on a replica. The burst lets an application send a large list again under other names. Daily caps bound requests that accept something.
 */
export const REPEATED_OF_KEY: Terms = { rateBurst: 5_000, ratePerSecond: 2 };
/** Attempts at a slice that loses races against other writes. */
const MAX_ATTEMPTS = 3;

export function createIdempotency(dependencies: IdempotencyDependencies) {
  const { store, retentionMs } = dependencies;
  const queue = new WorkQueue({ places: MAX_TRANSACTIONS, placesOfParty: MAX_TRANSACTIONS_OF_KEY });
  const repeated = new Ledger();
  return {
    /**
     * @returns the decisions for a request that came before, as sources of lines; "open" if some are still open, and undefined if
     *   the store knows nothing of the request.
     * @throws {@link ProtocolError} `IDEMPOTENCY_KEY_REUSED`.
     */
    async replay(request: IdempotentRequest) {
      const known = await findIdempotentRequest(store.pool, request, store.clock.longBefore(retentionMs));
      if (known === undefined) return undefined;
      await assertSameBody(store.pool, request, known);
      if (known.decided < known.ids.length) return "open";
      return await decidedSources(store.pool, known, 0, known.decided);
    },
    /**
     * Decides a slice of the caller's request, in turns with the addresses under a publishable key: repeats the decisions that exist, and calls `write` for the transactions after
     * them.
     * @throws {@link ProtocolError} `IDEMPOTENCY_KEY_REUSED`, `RATE_EXCEEDED` or `STORE_UNAVAILABLE`.
     */
    async decide(caller: LimitedCaller, request: IdempotentRequest, range: SliceRange, write: WriteSlice) {
      for (let attempt = 1; ; attempt++) {
        try {
          const decide = () => decideOnce({ ...dependencies, repeated }, request, range, write);
          return await queue.run(decide, ownerOf(caller));
        } catch (error) {
          const isRace = isTransactionConflict(error);
          if (!isRace && !(error instanceof CompetitorGoneError)) throw error;
          if (attempt === MAX_ATTEMPTS) throw isRace ? busy(error) : error;
        }
      }
    },
  };
}

/** Decides a slice in one database transaction, which holds the request's row until it ends. */
function decideOnce(
  { store, retentionMs, place, repeated }: IdempotencyDependencies & { readonly repeated: Ledger },
  request: IdempotentRequest,
  { ids, from, to, refused }: SliceRange,
  write: WriteSlice,
): Promise<DecidedSlice> {
  return inTransaction(store, async (db) => {
    const stored = await lockIdempotentRequest(db, request, ids, store.clock.longBefore(retentionMs));
    await assertSameBody(db, request, stored);
    const known = stored.decided === 0 ? withDecided(stored, refused, refused.length) : stored;
    // Decisions may end inside the slice: another version of the service may have cut the request into other slices.
    const start = Math.min(Math.max(known.decided, from), to);
    if (known.decided < from) throw new Error("the request was forgotten before it was over");
    const earlier = await decidedSources(db, known, from, start);
    if (start === to) return { ids: known.ids, lineSources: earlier, accepted: [] };
    const accept: Accept = (newSubmissions) => acceptOfKey({ pool: db }, place, newSubmissions);
    const { lineSources, accepted } = await write(accept, known.ids, start);
    if (stored.decided === 0 && accepted.length === 0) assertMayRepeat(repeated, request, ids.length);
    await saveDecisions(db, request, withDecided(known, lineSources, to));
    return { ids: known.ids, lineSources: [...earlier, ...lineSources], accepted };
  });
}

/**
 * Hashes the idempotency key and the transactions. The query parameter `wait` may differ between repetitions. Everybody may have a
 * publishable key, so under it an idempotency key belongs to the client's address too.
 */
export async function keyedRequestOf(
  caller: LimitedCaller,
  idempotencyKey: string,
  transactions: readonly string[],
  { chain, loop }: { readonly chain: number; readonly loop: Pick<LoopQueue, "run"> },
): Promise<IdempotentRequest> {
  const { keyId, address } = caller;
  const body = createHash("sha256");
  // A large batch is hashed in turns: at once, it takes as long as hundreds of requests.
  for (const { texts } of slicesOf(transactions)) {
    const price = texts.reduce((sum, { length }) => sum + length * PRICES.hashedByte, 0);
    await loop.run(partyOf(caller), price, () => {
      for (const text of texts) body.update(`${text.length}:`).update(text);
    });
  }
  const name = address === undefined ? idempotencyKey : `${address} ${idempotencyKey}`;
  const idempotencyKeyHash = createHash("sha256").update(name).digest();
  return { chain, keyId, idempotencyKeyHash, bodyHash: body.digest() };
}

/** Nothing of a request that is refused here stays in the store. */
function assertMayRepeat(repeated: Ledger, { keyId }: IdempotentRequest, transactions: number): void {
  const { ratePerSecond, rateBurst: burst } = REPEATED_OF_KEY;
  const asked = Math.min(transactions, burst);
  const restMs = repeated.take(keyId, asked, REPEATED_OF_KEY);
  if (restMs === 0) return;
  const remaining = Math.floor(burst - repeated.debtOf(keyId, REPEATED_OF_KEY));
  const [unit, retryAfterSeconds] = ["transactions", Math.ceil(restMs / 1_000)];
  const values = { ratePerSecond, burst, unit, asked: asked.toString(), remaining, retryAfterSeconds };
  const message = `new requests of this key with an ${IDEMPOTENCY_KEY} accept nothing too often: more than ${ratePerSecond} transactions a second (burst ${burst})`;
  throw new ProtocolError("RATE_EXCEEDED", message, values);
}

/** The refusal names the first submission, so that a client whose signatures differ finds its payment (D18). */
async function assertSameBody(
  db: Queryable,
  { bodyHash }: IdempotentRequest,
  { ids, decided, refusals, ...known }: Decisions,
): Promise<void> {
  if (bytesEqual(bodyHash, known.bodyHash)) return;
  const message = `other transactions were sent under this ${IDEMPOTENCY_KEY} before`;
  const accepted = ids.slice(0, decided).find((_, i) => refusals[i] === undefined);
  const [first] = accepted === undefined ? [] : await findSubmissions({ pool: db }, [accepted]);
  const isUnused = accepted === undefined && decided === ids.length;
  const remedy = isUnused ? ", and none was accepted: use another key" : "";
  if (first === undefined) throw new ProtocolError("IDEMPOTENCY_KEY_REUSED", message + remedy);
  const txHash = bytesToHex(first.innerHash);
  throw new ProtocolError("IDEMPOTENCY_KEY_REUSED", `${message}: the first is ${txHash}`, { txHash });
}

/** Makes lines of earlier decisions, the same as the first time. */
async function decidedSources(
  db: Queryable,
  known: Decisions,
  from: number,
  to: number,
): Promise<LineSource[]> {
  const ids = known.ids.slice(from, to);
  const accepted = ids.filter((_, i) => known.refusals[from + i] === undefined);
  const submissions = accepted.length > 0 ? await findSubmissions({ pool: db }, accepted) : [];
  const hashes = new Map(submissions.map(({ id, innerHash }) => [id, innerHash]));
  return ids.map((id, i): LineSource => {
    const index = from + i;
    const refusal = known.refusals[index];
    if (refusal) return { index, id, error: new ProtocolError(...refusal) };
    const innerHash = hashes.get(id);
    if (innerHash === undefined) throw new Error(`submission ${id} is not in the store`);
    return { index, id, innerHash, earlier: true };
  });
}

function withDecided(known: Decisions, lineSources: readonly LineSource[], decided: number): Decisions {
  const ids = [...known.ids];
  const refusals = { ...known.refusals };
  for (const source of lineSources) {
    ids[source.index] = source.id;
    if (!("error" in source)) continue;
    const { reason, message, values } = source.error;
    refusals[source.index] = [reason, message, values];
  }
  return { bodyHash: known.bodyHash, ids, decided, refusals };
}

function busy(cause: unknown): ProtocolError {
  const message = "another request with the same Idempotency-Key or transactions is being written; try again";
  return new ProtocolError("STORE_UNAVAILABLE", message, {}, { cause });
}
