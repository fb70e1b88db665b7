import { setImmediate } from "node:timers/promises";
import {
  assertInnerTx,
  bytesToHex,
  type InnerTxRules,
  ProtocolError,
  parseInnerTx,
  selectorOf,
} from "@gas-waiver/protocol";
import { v7 as uuidv7 } from "uuid";
import type { Caller } from "./caller.js";
import type { Entry, Lines } from "./lines.js";
import type { Logger } from "./log.js";
import type { Acceptance, Applicant } from "./store/accept.js";
import type { Accept } from "./store/groupAccepts.js";
import type { Submission } from "./submission.js";
import { shuttingDown, storeErrors } from "./unavailable.js";

export interface TakerDependencies {
  /** One durable write (D19). */
  readonly acceptAll: Accept;
  /** The lane for a sender that has nothing under way: 20 bytes. */
  chooseLane(): Uint8Array;
  /** The lanes of what was accepted, one for each. */
  onAccepted(waivers: readonly Uint8Array[]): void;
  /** The service shuts down: what is not accepted yet will not be. */
  isRefusing(): boolean;
  readonly log: Logger;
}

/** A request that was admitted, on its way into the store. */
export interface Taking {
  readonly caller: Caller;
  readonly rules: InnerTxRules;
  readonly lines: Lines;
}

export interface Taker {
  /**
   * Looks at a request's transactions and accepts those that pass, some at a time, so that the first lines leave
   * before the last transaction is looked at, and other requests have their turn in between.
   * @returns when the first are in the store, a promise for the others. It never rejects: they end in lines.
   * @throws {@link ProtocolError} `UNAVAILABLE`, with nothing accepted for sure.
   */
  take(transactions: readonly string[], request: Taking): Promise<{ readonly others: Promise<void> }>;
}

/** Transactions that are looked at and written at once, and their size in hex digits; the first is always taken. */
const SLICE = { transactions: 25, length: 512 * 1024 };

export function createTaker({
  acceptAll,
  chooseLane,
  onAccepted,
  isRefusing,
  log,
}: TakerDependencies): Taker {
  /** Accepts what can be accepted of what was looked at, and says so in lines. */
  const acceptSlice = async (examined: readonly Examined[], from: number, { lines }: Taking) => {
    const applicants = giveLanes(
      examined.flatMap((e) => ("applicant" in e ? [e.applicant] : [])),
      chooseLane,
    );
    // Before the write: no news can be missed.
    lines.expect(applicants.map(({ id }) => id));
    const acceptances = await storeErrors(() => acceptAll(applicants));
    const taken = acceptances.flatMap((a) => (a.kind === "accepted" ? [a.waiver] : []));
    if (taken.length > 0) onAccepted(taken);
    const outcomes = new Map(applicants.map(({ id }, i) => [id, acceptances[i]]));
    lines.add(examined.map((e, i) => entryOf(e, from + i, outcomes)));
  };
  /** The request is admitted: whatever happens now is told in lines. */
  const takeOthers = async (slices: readonly Slice[], request: Taking) => {
    let refusal: ProtocolError | undefined;
    for (const { from, texts } of slices) {
      await setImmediate();
      if (isRefusing()) refusal ??= shuttingDown();
      if (refusal) {
        request.lines.add(texts.map((_, i) => notTaken(from + i, refusal)));
        continue;
      }
      const examined = texts.map((text) => examine(text, request));
      try {
        await acceptSlice(examined, from, request);
      } catch (error) {
        if (!(error instanceof ProtocolError)) log.error({ err: error }, "a part of a request failed");
        refusal = error instanceof ProtocolError ? error : failed();
        request.lines.add(examined.map((e, i) => unclear(e, from + i, refusal)));
      }
    }
    request.lines.complete();
  };
  return {
    async take(transactions, request) {
      const [first, ...others] = slicesOf(transactions);
      if (first) {
        const examined = first.texts.map((text) => examine(text, request));
        await acceptSlice(examined, first.from, request);
      }
      return { others: takeOthers(others, request) };
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

type Examined = { readonly id: string } & (
  | { readonly applicant: Omit<Applicant, "waiver"> }
  | { readonly error: ProtocolError }
);

/** Parses and validates one string: pure. */
function examine(text: string, { caller, rules }: Pick<Taking, "caller" | "rules">): Examined {
  const id = uuidv7();
  try {
    const { tx, sender, hash, to } = assertInnerTx(parseInnerTx(text), rules);
    const call = { target: to, selector: selectorOf(tx.data) };
    const inner = { innerHash: hash, innerRaw: tx.raw, sender, senderNonce: tx.nonce };
    return { id, applicant: { id, keyId: caller.keyId, ...inner, ...call } };
  } catch (error) {
    if (error instanceof ProtocolError) return { id, error };
    throw error;
  }
}

/** A lane for every sender: all of a request's transactions of one sender go to the same. */
function giveLanes(
  applicants: readonly Omit<Applicant, "waiver">[],
  chooseLane: () => Uint8Array,
): Applicant[] {
  const lanes = new Map<string, Uint8Array>();
  return applicants.map((applicant) => {
    const sender = bytesToHex(applicant.sender);
    const waiver = lanes.get(sender) ?? chooseLane();
    lanes.set(sender, waiver);
    return { ...applicant, waiver };
  });
}

/** What is known of an examined transaction once the store has answered. */
function entryOf(examined: Examined, index: number, acceptances: Map<string, Acceptance | undefined>): Entry {
  const { id } = examined;
  if ("error" in examined) return { index, id, error: examined.error };
  const { innerHash, senderNonce } = examined.applicant;
  const acceptance = acceptances.get(id);
  switch (acceptance?.kind) {
    case "known":
      return { index, id: acceptance.submission.id, innerHash, earlier: true };
    case "conflict":
      return { index, id, error: conflictOf(acceptance.with, senderNonce) };
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
function notTaken(index: number, why: ProtocolError | undefined): Entry {
  const message = `it was not taken, send it again: ${why?.message}`;
  return { index, id: uuidv7(), error: new ProtocolError("NOT_BROADCAST", message) };
}

/** What was being written when the store failed. */
function unclear(examined: Examined, index: number, why: ProtocolError | undefined): Entry {
  const { id } = examined;
  if ("error" in examined) return { index, id, error: examined.error };
  const message = `it may have been accepted, ask for it by its id or send it again: ${why?.message}`;
  return { index, id, error: new ProtocolError("OUTCOME_UNKNOWN", message) };
}

function failed(): ProtocolError {
  return new ProtocolError("INTERNAL_ERROR", "the service failed to take it; the failure was logged");
}
