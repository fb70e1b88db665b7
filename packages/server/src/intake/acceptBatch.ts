import {
  bytesEqual,
  bytesToHex,
  hashTransaction,
  type InnerTxRules,
  ProtocolError,
  selectorOf,
  type ValidInnerTx,
} from "@gas-waiver/protocol";
import { type Caller, partyOf } from "../model/keys/caller.js";
import { PRICES } from "../model/prices.js";
import { shuttingDown } from "../model/shuttingDown.js";
import type { RefusedLine } from "../model/submission/refusedRecord.js";
import type { Logger } from "../model/telemetry/log.js";
import { partOfRequest, validateInTurns } from "../policy/validateInTurns.js";
import type { Validation } from "../policy/validateTransaction.js";
import type { ResultLines } from "../results/lines.js";
import type { Refusals } from "../results/refusals.js";
import type { LineSource } from "../results/resultLine.js";
import type { SubmissionsByHash } from "../results/submissionsByHash.js";
import type { Accept } from "../store/accept/groupAccepts.js";
import type { IdempotentRequest } from "../store/accept/idempotentRequests.js";
import type { NewSubmission } from "../store/accept/newSubmission.js";
import { mapStoreErrors } from "../store/database/storeTrouble.js";
import type { LoopQueue } from "../util/loopQueue.js";
import type { AcceptedSubmission, DecidedSlice, Idempotency, SliceOutcome } from "./idempotency.js";
import { lineSourceOf, maybeAccepted, notAccepted, type ValidatedTransaction } from "./lineSources.js";
import { type Slice, slicesOf } from "./slices.js";

export interface BatchAcceptorDependencies {
  /** Accepts in one durable write (D19). */
  readonly acceptAll: Accept;
  /** Accepts for requests with an idempotency key. */
  readonly idempotency: Pick<Idempotency, "decide">;
  /** The waivers that may carry a call; undefined if all waivers permit the same calls. */
  carriersOf(target: Uint8Array, selector: Uint8Array | undefined): readonly Uint8Array[] | undefined;
  /** Chooses a lane, among those of the carriers, for a sender without unfinished submissions. @returns 20 bytes. */
  chooseLane(carriers: readonly Uint8Array[] | undefined): Uint8Array;
  /** Spreads the checks over turns of the event loop. */
  readonly loop: LoopQueue;
  /** Makes the id of a transaction. */
  newId(): string;
  /** Called after each write with everything that it accepted. */
  onAccepted(submissions: readonly AcceptedSubmission[]): void;
  /** True while the service shuts down. Transactions that are not accepted yet are refused then. */
  isStopping(): boolean;
  /** Finds the submissions of an API key by the hashes of their transactions, but those that failed. */
  findStanding: SubmissionsByHash["standing"];
  /** Keeps what is refused for those who look up its ids. */
  readonly refusals: Pick<Refusals, "keep">;
  readonly log: Logger;
}

/** A request that has room in the queue. */
export interface AdmittedRequest {
  readonly caller: Caller;
  readonly rules: InnerTxRules;
  readonly lines: Pick<ResultLines, "expect" | "add" | "complete">;
  /** The request's idempotency key with its hashes (D18), if the client sent one. */
  readonly keyed?: IdempotentRequest | undefined;
  /** Whether the store has decisions of a request under this idempotency key. */
  readonly isBegun?: boolean;
  /** Called when this many more of the transactions have been accepted or refused. */
  onDecided(transactions: number): void;
}

/** A request with the ids of its transactions. A request that repeats an idempotency key gets the ids of the first request under it. */
interface Batch extends AdmittedRequest {
  ids: readonly string[];
  /**
   * The lines so far of a request with an idempotency key, while none of its transactions was valid. The store is not told of them:
   * anybody could fill it with such requests.
   */
  refused: LineSource[] | undefined;
}

interface ValidatedSlice {
  readonly from: number;
  readonly validations: readonly Validation[];
}

/** Accepts the transactions of requests that have room in the queue. */
export class BatchAcceptor {
  readonly #dependencies: BatchAcceptorDependencies;

  constructor(dependencies: BatchAcceptorDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Validates a request's transactions and accepts the valid ones, a slice at a time. So the first lines leave before
   * the last transaction is validated, and other requests get their turns in between.
   * @returns when the first slice is in the store. `completed` resolves when every transaction is accepted or has the
   *   result line of a failure, and never rejects.
   * @throws {@link ProtocolError} of code `UNAVAILABLE`, or `IDEMPOTENCY_KEY_REUSED`. Then nothing is known to be accepted.
   */
  async accept(transactions: readonly string[], request: AdmittedRequest) {
    const ids = transactions.map(() => this.#dependencies.newId());
    const batch: Batch = { ...request, ids, refused: request.keyed && !request.isBegun ? [] : undefined };
    const [first, ...laterSlices] = slicesOf(transactions);
    if (first) {
      const validated = await this.#validate(first, batch);
      if (validated === undefined) throw shuttingDown();
      await this.#acceptSlice(validated, batch);
    }
    return { completed: this.#acceptLater(laterSlices, batch) };
  }

  /** Accepts the slices after the first one. The response has begun by then, so every failure becomes a result line. */
  async #acceptLater(slices: readonly Slice[], batch: Batch): Promise<void> {
    const { log } = this.#dependencies;
    let refusal: ProtocolError | undefined;
    for (const slice of slices) {
      const validated = refusal ? undefined : await this.#validate(slice, batch);
      if (validated === undefined) {
        refusal ??= shuttingDown();
        this.#addLines(refuseSlice(slice, batch, refusal), batch);
        continue;
      }
      try {
        await this.#acceptSlice(validated, batch);
      } catch (error) {
        if (!(error instanceof ProtocolError)) log.error({ err: error }, "a slice of a request failed");
        const cause = error instanceof ProtocolError ? error : internalError();
        refusal = cause;
        const transactions = transactionsOf(validated, batch.ids, validated.from);
        const lineSources = transactions.map((transaction) => maybeAccepted(transaction, cause));
        this.#addLines(lineSources, batch, validated);
      }
    }
    batch.lines.complete();
  }

  /** @returns undefined if the service shuts down. */
  async #validate(
    { from, texts }: Slice,
    { rules, caller, ids }: Batch,
  ): Promise<ValidatedSlice | undefined> {
    const { loop, isStopping } = this.#dependencies;
    const validations = await validateInTurns(texts, { caller, rules, size: ids.length, loop, isStopping });
    return validations && { from, validations };
  }

  async #acceptSlice(slice: ValidatedSlice, batch: Batch): Promise<void> {
    const outcome = await mapStoreErrors(() => this.#decide(slice, batch));
    batch.ids = outcome.ids;
    batch.onDecided(slice.validations.length);
    if (outcome.accepted.length > 0) this.#dependencies.onAccepted(outcome.accepted);
    this.#addLines(outcome.lineSources, batch, slice);
  }

  async #decide(slice: ValidatedSlice, batch: Batch): Promise<DecidedSlice> {
    const { acceptAll, idempotency } = this.#dependencies;
    const { keyed, ids, refused } = batch;
    const { from, validations } = slice;
    const isRefused = validations.every((validation) => "error" in validation);
    if (keyed === undefined || (isRefused && refused)) {
      const outcome = await this.#write(acceptAll, transactionsOf(slice, ids, from), batch);
      refused?.push(...outcome.lineSources);
      return { ids, ...outcome };
    }
    batch.refused = undefined;
    const range = { ids, from, to: from + validations.length, refused: refused ?? [] };
    return await idempotency.decide(batch.caller, keyed, range, (accept, knownIds, start) =>
      this.#write(accept, transactionsOf(slice, knownIds, start), batch),
    );
  }

  /** Adds the lines, and keeps those that are refused, from before a client has them. */
  #addLines(lineSources: readonly LineSource[], { caller, lines }: Batch, slice?: ValidatedSlice): void {
    const refused = lineSources.flatMap((source) => refusedLineOf(source, slice) ?? []);
    if (refused.length > 0) this.#dependencies.refusals.keep(caller, refused);
    lines.add(lineSources);
  }

  async #write(
    accept: Accept,
    transactions: readonly ValidatedTransaction[],
    batch: Batch,
  ): Promise<SliceOutcome> {
    const { loop } = this.#dependencies;
    // Before the write, so that no failure to find them hides what is accepted.
    const standing = await this.#findStanding(transactions, batch.caller);
    const newSubmissions = assignLanes(
      transactions.flatMap((one) =>
        "valid" in one ? [unassignedSubmissionOf(one.id, one.valid, batch.caller)] : [],
      ),
      this.#dependencies,
    );
    const price = newSubmissions.length > 0 ? PRICES.write + newSubmissions.length * PRICES.accept : 0;
    loop.charge(partyOf(batch.caller), price, partOfRequest(batch.ids.length));
    // Before the write, so that no result is missed.
    batch.lines.expect(newSubmissions.map(({ id }) => id));
    const acceptances = await accept(newSubmissions);
    const acceptanceById = new Map(newSubmissions.map(({ id }, i) => [id, acceptances[i]]));
    const accepted = newSubmissions.flatMap((submission, i): AcceptedSubmission[] => {
      const acceptance = acceptances[i];
      if (acceptance?.kind !== "accepted") return [];
      return [{ waiver: acceptance.waiver, submission, isSigned: acceptance.isSigned ?? false }];
    });
    return {
      lineSources: transactions.map(
        (one) => standing.get(one.id) ?? lineSourceOf(one, acceptanceById.get(one.id), batch.caller),
      ),
      accepted,
    };
  }

  /**
   * Finds what the rules of today refuse and earlier ones let in: policies, scopes and limits change. It may still run, so
   * its line is that of the submission (D18). @returns the lines' sources, by the ids of the transactions.
   */
  async #findStanding(
    transactions: readonly ValidatedTransaction[],
    { keyId }: Caller,
  ): Promise<ReadonlyMap<string, LineSource>> {
    const refused = transactions.flatMap((one) =>
      "error" in one && one.tx ? [{ ...one, innerHash: hashTransaction(one.tx) }] : [],
    );
    if (refused.length === 0) return new Map();
    const hashes = refused.map(({ innerHash }) => innerHash);
    const found = await this.#dependencies.findStanding(keyId, hashes);
    return new Map(
      refused.flatMap(({ id, index, innerHash }) => {
        const submission = found.get(bytesToHex(innerHash));
        return submission ? [[id, { index, id: submission.id, innerHash, earlier: true }] as const] : [];
      }),
    );
  }
}

/** @param start the first index in the request: the transactions before it were decided by an earlier attempt. */
function transactionsOf(
  { from, validations }: ValidatedSlice,
  ids: readonly string[],
  start: number,
): ValidatedTransaction[] {
  return validations
    .slice(start - from)
    .map((validation, i) => ({ ...validation, index: start + i, id: idAt(ids, start + i) }));
}

/** The refused line with what is known of its transaction; undefined if the transaction is or may be accepted. */
function refusedLineOf(source: LineSource, slice: ValidatedSlice | undefined): RefusedLine | undefined {
  if (!("error" in source) || source.error.reason === "OUTCOME_UNKNOWN") return undefined;
  const validation = slice?.validations[source.index - slice.from];
  const tx = validation && ("valid" in validation ? validation.valid.tx : validation.tx);
  return { id: source.id, error: source.error, tx };
}

function refuseSlice({ from, texts }: Slice, { ids }: Batch, refusal: ProtocolError) {
  return texts.map((_, i) => notAccepted(from + i, idAt(ids, from + i), refusal));
}

function idAt(ids: readonly string[], index: number): string {
  const id = ids[index];
  if (id === undefined) throw new Error(`the transaction at ${index} has no id`);
  return id;
}

type UnassignedSubmission = Omit<NewSubmission, "waiver">;

function unassignedSubmissionOf(
  id: string,
  { tx, sender, hash, to }: ValidInnerTx,
  caller: Caller,
): UnassignedSubmission {
  return {
    id,
    keyId: caller.keyId,
    innerHash: hash,
    innerRaw: tx.raw,
    sender,
    senderNonce: tx.nonce,
    target: to,
    selector: selectorOf(tx.data),
    gasLimit: tx.gasLimit,
    caps: caller.caps,
  };
}

/**
 * Gives every new submission a lane. Submissions of one sender get the same lane, as far as the lane's waiver may carry
 * them.
 */
function assignLanes(
  newSubmissions: readonly UnassignedSubmission[],
  { carriersOf, chooseLane }: Pick<BatchAcceptorDependencies, "carriersOf" | "chooseLane">,
): NewSubmission[] {
  const laneBySender = new Map<string, Uint8Array>();
  return newSubmissions.map((newSubmission) => {
    const sender = bytesToHex(newSubmission.sender);
    const carriers = carriersOf(newSubmission.target, newSubmission.selector);
    const lane = laneBySender.get(sender);
    const mayStay = lane && (carriers?.some((carrier) => bytesEqual(carrier, lane)) ?? true);
    const waiver = mayStay ? lane : chooseLane(carriers);
    laneBySender.set(sender, waiver);
    return { ...newSubmission, waiver };
  });
}

function internalError(): ProtocolError {
  return new ProtocolError(
    "INTERNAL_ERROR",
    "the service failed to accept the batch; the failure was logged",
  );
}
