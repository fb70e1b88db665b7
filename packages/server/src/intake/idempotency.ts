import { createHash } from "node:crypto";
import { bytesEqual, IDEMPOTENCY_KEY, ProtocolError } from "@gas-waiver/protocol";
import type { Caller } from "../model/caller.js";
import type { LineSource } from "../results/lines.js";
import { RivalGoneError } from "../store/accept.js";
import { acceptOfKey } from "../store/acceptAll.js";
import type { Accept } from "../store/groupAccepts.js";
import {
  type Decisions,
  findKeyedRequest,
  holdKeyedRequest,
  type KeyedRequest,
  saveDecisions,
} from "../store/keyedRequests.js";
import { findSubmissions } from "../store/lookup.js";
import type { Queryable, Store } from "../store/store.js";
import { hasLostRace, inTransaction } from "../store/transaction.js";
import { createFairSemaphore } from "../util/fairSemaphore.js";

/**
 * Requests that their clients have named (D18). What becomes of a transaction is decided once, in one transaction of the
 * store with its acceptance: whoever comes second, on whichever replica, waits for that and finds it decided. So a
 * crash leaves either both or nothing, and a replay goes on where the first one came to.
 */
export interface Idempotency {
  /**
   * All of a request that came before, as entries of lines; undefined if a part of it is open.
   * @throws {@link ProtocolError} `IDEMPOTENCY_KEY_REUSED`.
   */
  replay(request: KeyedRequest): Promise<LineSource[] | undefined>;
  /**
   * Decides the transactions from `from` to `to` (not included), by `write` as far as that was not done before.
   * @param ids given to the request's transactions, should it be the first under its name.
   * @throws {@link ProtocolError} `IDEMPOTENCY_KEY_REUSED` or `STORE_UNAVAILABLE`.
   */
  decide(request: KeyedRequest, part: SliceRange, write: WriteSlice): Promise<DecidedSlice>;
}

export interface SliceRange {
  readonly ids: readonly string[];
  readonly from: number;
  readonly to: number;
}

/** Accepts what can be accepted from this position on, under these ids; one entry for each transaction. */
export type WriteSlice = (accept: Accept, ids: readonly string[], from: number) => Promise<SliceOutcome>;

/** A submission that was accepted just now. */
export interface AcceptedSubmission {
  /** Its lane. */
  readonly waiver: Uint8Array;
  readonly sender: Uint8Array;
}

export interface SliceOutcome {
  readonly lineSources: readonly LineSource[];
  readonly accepted: readonly AcceptedSubmission[];
}

export interface DecidedSlice extends SliceOutcome {
  /** Those of the request that was the first under its name. */
  readonly ids: readonly string[];
}

export interface IdempotencyDependencies {
  readonly store: Store;
  /** For how long a request is known by its name. */
  readonly keptMs: number;
  readonly place: { readonly chain: number; readonly origin: string };
}

/** Transactions of the store at once: each has a connection for some round trips, and there are ten. */
const AT_ONCE = 4;
const TRIES = 3;

export function createIdempotency({ store, keptMs, place }: IdempotencyDependencies): Idempotency {
  const turns = createFairSemaphore(AT_ONCE, Number.POSITIVE_INFINITY);
  const decideOnce = (request: KeyedRequest, { ids, from, to }: SliceRange, write: WriteSlice) =>
    inTransaction(store, async (db): Promise<DecidedSlice> => {
      const known = await holdKeyedRequest(db, request, ids, keptMs);
      assertSameBody(request, known);
      // Another version of the service may have cut the request into other parts.
      const start = Math.min(Math.max(known.decided, from), to);
      if (known.decided < from) throw new Error("the request was forgotten before it was over");
      const earlier = await entriesOf(db, known, from, start);
      if (start === to) return { ids: known.ids, lineSources: earlier, accepted: [] };
      const { lineSources, accepted } = await write(
        (applicants) => acceptOfKey({ pool: db }, place, applicants),
        known.ids,
        start,
      );
      await saveDecisions(db, request, withDecided(known, lineSources, to));
      return { ids: known.ids, lineSources: [...earlier, ...lineSources], accepted };
    });
  return {
    async replay(request) {
      const known = await findKeyedRequest(store.pool, request, keptMs);
      if (known === undefined) return undefined;
      assertSameBody(request, known);
      if (known.decided < known.ids.length) return undefined;
      return await entriesOf(store.pool, known, 0, known.decided);
    },
    async decide(request, part, write) {
      for (let tries = 1; ; tries++) {
        try {
          return await turns.run(() => decideOnce(request, part, write));
        } catch (error) {
          const isRace = hasLostRace(error);
          if (!isRace && !(error instanceof RivalGoneError)) throw error;
          if (tries === TRIES) throw isRace ? busy(error) : error;
        }
      }
    },
  };
}

/** What a client names a request by, with its transactions. Their texts count, not when their lines are known. */
export function keyedRequestOf(
  { keyId }: Pick<Caller, "keyId">,
  name: string,
  transactions: readonly string[],
  chain: number,
): KeyedRequest {
  const body = createHash("sha256");
  for (const text of transactions) body.update(`${text.length}:`).update(text);
  const nameHash = createHash("sha256").update(name).digest();
  return { chain, keyId, nameHash, bodyHash: body.digest() };
}

function assertSameBody({ bodyHash }: KeyedRequest, known: Decisions): void {
  if (bytesEqual(bodyHash, known.bodyHash)) return;
  const message = `other transactions were sent under this ${IDEMPOTENCY_KEY} before`;
  throw new ProtocolError("IDEMPOTENCY_KEY_REUSED", message);
}

/** What is decided, as it was told the first time. */
async function entriesOf(db: Queryable, known: Decisions, from: number, to: number): Promise<LineSource[]> {
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

function withDecided(known: Decisions, entries: readonly LineSource[], decided: number) {
  const ids = [...known.ids];
  const refusals = { ...known.refusals };
  for (const entry of entries) {
    ids[entry.index] = entry.id;
    if ("error" in entry) refusals[entry.index] = [entry.error.reason, entry.error.message];
  }
  return { ids, decided, refusals };
}

function busy(cause: unknown): ProtocolError {
  const message = "another request with the same name or transactions is being written; come again";
  return new ProtocolError("STORE_UNAVAILABLE", message, {}, { cause });
}
