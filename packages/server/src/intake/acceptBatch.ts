import {
  assertInnerTx,
  bytesEqual,
  bytesToHex,
  type InnerTxRules,
  ProtocolError,
  parseInnerTx,
  selectorOf,
} from "@gas-waiver/protocol";
import { v7 as uuidv7 } from "uuid";
import type { Caller } from "../model/caller.js";
import { capExceeded } from "../model/capExceeded.js";
import type { Logger } from "../model/log.js";
import type { Submission } from "../model/submission.js";
import { shuttingDown, storeErrors } from "../model/unavailable.js";
import type { LineSource, ResultLines } from "../results/lines.js";
import type { Acceptance, Applicant } from "../store/accept.js";
import type { Accept } from "../store/groupAccepts.js";
import type { KeyedRequest } from "../store/keyedRequests.js";
import { createEventLoopYield } from "./eventLoopYield.js";
import type { AcceptedSubmission, Idempotency, WriteSlice } from "./idempotency.js";

export interface BatchAcceptorDependencies {
  /** One durable write (D19). */
  readonly acceptAll: Accept;
  /** The same for a request that has a name. */
  readonly idempotency: Pick<Idempotency, "decide">;
  /** The waivers that may carry a call; undefined if any may that may carry anything. */
  carriersOf(target: Uint8Array, selector: Uint8Array | undefined): readonly Uint8Array[] | undefined;
  /** The lane, of those of these waivers, for a sender that has nothing under way: 20 bytes. */
  chooseLane(carriers: readonly Uint8Array[] | undefined): Uint8Array;
  /** The lanes of what was accepted, one for each. */
  onAccepted(taken: readonly AcceptedSubmission[]): void;
  /** The service shuts down: what is not accepted yet will not be. */
  isRefusing(): boolean;
  readonly log: Logger;
}

/** A request that was admitted, on its way into the store. */
export interface AdmittedRequest {
  readonly caller: Caller;
  readonly rules: InnerTxRules;
  readonly lines: ResultLines;
  /** What its client calls it (D18), if anything. */
  readonly keyed?: KeyedRequest | undefined;
}

/** A request, and the ids of its transactions. A name that was used before brings those that it had then. */
interface Batch extends AdmittedRequest {
  ids: readonly string[];
}

export interface BatchAcceptor {
  /**
   * Looks at a request's transactions and accepts those that pass, some at a time, so that the first lines leave
   * before the last transaction is looked at, and other requests have their turn in between.
   * @returns when the first are in the store, a promise for the others. It never rejects: they end in lines.
   * @throws {@link ProtocolError} `UNAVAILABLE`, with nothing accepted for sure.
   */
  accept(
    transactions: readonly string[],
    request: AdmittedRequest,
  ): Promise<{ readonly others: Promise<void> }>;
}

/** Transactions that are looked at and written at once, and their size in hex digits; the first is always taken. */
const SLICE = { transactions: 25, length: 512 * 1024 };

export function createBatchAcceptor(dependencies: BatchAcceptorDependencies): BatchAcceptor {
  const { acceptAll, idempotency, onAccepted, isRefusing, log } = dependencies;
  const turns = createEventLoopYield();
  /** Accepts what can be accepted of what was looked at, and says so in lines. */
  const acceptSlice = async (examined: readonly Examined[], from: number, batch: Batch) => {
    const { keyed, lines } = batch;
    const write: WriteSlice = async (acceptThese, ids, start) => {
      const named = examined
        .slice(start - from)
        .map((e, i) => ({ ...e, index: start + i, id: idAt(ids, start + i) }));
      const applicants = giveLanes(
        named.flatMap((e) => ("applicant" in e ? [{ ...e.applicant, id: e.id }] : [])),
        dependencies,
      );
      // Before the write: no news can be missed.
      lines.expect(applicants.map(({ id }) => id));
      const acceptances = await acceptThese(applicants);
      const outcomes = new Map(applicants.map(({ id }, i) => [id, acceptances[i]]));
      const taken = applicants.flatMap(({ sender }, i): AcceptedSubmission[] => {
        const acceptance = acceptances[i];
        return acceptance?.kind === "accepted" ? [{ waiver: acceptance.waiver, sender }] : [];
      });
      return { lineSources: named.map((e) => entryOf(e, outcomes)), accepted: taken };
    };
    const part = { ids: batch.ids, from, to: from + examined.length };
    const { ids, lineSources, accepted } = await storeErrors(async () =>
      keyed
        ? await idempotency.decide(keyed, part, write)
        : { ...part, ...(await write(acceptAll, part.ids, from)) },
    );
    batch.ids = ids;
    if (accepted.length > 0) onAccepted(accepted);
    lines.add(lineSources);
  };
  /** The request is admitted: whatever happens now is told in lines. */
  const takeOthers = async (slices: readonly Slice[], batch: Batch) => {
    let refusal: ProtocolError | undefined;
    for (const { from, texts } of slices) {
      await turns.acquire(texts.length);
      if (isRefusing()) refusal ??= shuttingDown();
      if (refusal) {
        batch.lines.add(texts.map((_, i) => notTaken(from + i, batch, refusal)));
        continue;
      }
      const examined = texts.map((text) => examine(text, batch));
      try {
        await acceptSlice(examined, from, batch);
      } catch (error) {
        if (!(error instanceof ProtocolError)) log.error({ err: error }, "a part of a request failed");
        refusal = error instanceof ProtocolError ? error : failed();
        batch.lines.add(examined.map((e, i) => unclear(e, from + i, batch, refusal)));
      }
    }
    batch.lines.complete();
  };
  return {
    async accept(transactions, request) {
      const batch: Batch = { ...request, ids: transactions.map(() => uuidv7()) };
      const [first, ...others] = slicesOf(transactions);
      if (first) {
        await turns.acquire(first.texts.length);
        if (isRefusing()) throw shuttingDown();
        const examined = first.texts.map((text) => examine(text, batch));
        await acceptSlice(examined, first.from, batch);
      }
      return { others: takeOthers(others, batch) };
    },
  };
}

interface Slice {
  /** The index of the first of them in the request. */
  readonly from: number;
  readonly texts: readonly string[];
}

function slicesOf(transactions: readonly string[]): Slice[] {
  const slices: Slice[] = [];
  for (let from = 0; from < transactions.length; ) {
    let length = 0;
    let to = from;
    do length += transactions[to++]?.length ?? 0;
    while (to < transactions.length && to - from < SLICE.transactions && length < SLICE.length);
    slices.push({ from, texts: transactions.slice(from, to) });
    from = to;
  }
  return slices;
}

type Examined = { readonly applicant: Omit<Applicant, "waiver" | "id"> } | { readonly error: ProtocolError };

/** Parses and validates one string: pure. */
function examine(text: string, { caller, rules }: Pick<AdmittedRequest, "caller" | "rules">): Examined {
  try {
    const { tx, sender, hash, to } = assertInnerTx(parseInnerTx(text), rules);
    const call = { target: to, selector: selectorOf(tx.data) };
    const inner = { innerHash: hash, innerRaw: tx.raw, sender, senderNonce: tx.nonce };
    const counted = { gasLimit: tx.gasLimit, caps: caller.caps };
    return { applicant: { keyId: caller.keyId, ...inner, ...call, ...counted } };
  } catch (error) {
    if (error instanceof ProtocolError) return { error };
    throw error;
  }
}

function idAt(ids: readonly string[], index: number): string {
  const id = ids[index];
  if (id === undefined) throw new Error(`the transaction at ${index} has no id`);
  return id;
}

/** A lane for every sender: a request's transactions of one sender go to the same, as far as its waiver may carry them. */
function giveLanes(
  applicants: readonly Omit<Applicant, "waiver">[],
  { carriersOf, chooseLane }: Pick<BatchAcceptorDependencies, "carriersOf" | "chooseLane">,
): Applicant[] {
  const lanes = new Map<string, Uint8Array>();
  return applicants.map((applicant) => {
    const sender = bytesToHex(applicant.sender);
    const carriers = carriersOf(applicant.target, applicant.selector);
    const before = lanes.get(sender);
    const mayStay = before && (carriers?.some((one) => bytesEqual(one, before)) ?? true);
    const waiver = mayStay ? before : chooseLane(carriers);
    lanes.set(sender, waiver);
    return { ...applicant, waiver };
  });
}

/** What is known of an examined transaction once the store has answered. */
function entryOf(
  examined: Examined & { readonly index: number; readonly id: string },
  acceptances: Map<string, Acceptance | undefined>,
): LineSource {
  const { index, id } = examined;
  if ("error" in examined) return { index, id, error: examined.error };
  const { innerHash, senderNonce } = examined.applicant;
  const acceptance = acceptances.get(id);
  switch (acceptance?.kind) {
    case "known":
      return { index, id: acceptance.submission.id, innerHash, earlier: true };
    case "conflict":
      return { index, id, error: conflictOf(acceptance.with, senderNonce) };
    case "capped":
      return { index, id, error: capExceeded(acceptance.by) };
    default:
      return { index, id, innerHash, earlier: false };
  }
}

/** D20: a nonce that is used is too low; one that is under way is a conflict. */
function conflictOf(rival: Submission, nonce: bigint): ProtocolError {
  const values = { nonce: nonce.toString(), submission: rival.id };
  if (rival.state === "included") {
    const message = `nonce ${nonce} is already used, by submission ${rival.id}`;
    return new ProtocolError("NONCE_TOO_LOW", message, values);
  }
  const message = `another transaction of this sender with nonce ${nonce} is ${rival.state}: submission ${rival.id}`;
  return new ProtocolError("NONCE_CONFLICT", message, values);
}

/** What was not looked at when the service could take nothing more. */
function notTaken(index: number, { ids }: Batch, why: ProtocolError | undefined): LineSource {
  const message = `it was not taken, send it again: ${why?.message}`;
  return { index, id: idAt(ids, index), error: new ProtocolError("NOT_BROADCAST", message) };
}

/** What was being written when the store failed. */
function unclear(
  examined: Examined,
  index: number,
  { ids }: Batch,
  why: ProtocolError | undefined,
): LineSource {
  const id = idAt(ids, index);
  if ("error" in examined) return { index, id, error: examined.error };
  const message = `it may have been accepted, ask for it by its id or send it again: ${why?.message}`;
  return { index, id, error: new ProtocolError("OUTCOME_UNKNOWN", message) };
}

function failed(): ProtocolError {
  return new ProtocolError("INTERNAL_ERROR", "the service failed to take it; the failure was logged");
}
