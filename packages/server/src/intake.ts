import { setMaxListeners } from "node:events";
import {
  assertInnerTx,
  bytesToHex,
  type InnerTxRules,
  ProtocolError,
  parseInnerTx,
  type ResultLine,
  selectorOf,
  type Wait,
} from "@gas-waiver/protocol";
import { v7 as uuidv7 } from "uuid";
import { createAdmission } from "./admission.js";
import { type Caller, scopeOf } from "./caller.js";
import { awaitLines, type Entry } from "./lines.js";
import type { Logger } from "./log.js";
import type { Metrics } from "./metrics.js";
import type { ResolvedOptions } from "./options.js";
import type { PolicySource } from "./policySource.js";
import type { Results } from "./results.js";
import { resumeLines } from "./resume.js";
import { type Acceptance, type Applicant, accept } from "./store/accept.js";
import { groupAccepts } from "./store/groupAccepts.js";
import { isStoreUnavailable, type Store } from "./store/Store.js";
import type { Submission } from "./submission.js";

/** Takes batches of signed InnerTxs: parse, validate, accept by one durable write, then await the results. */
export interface Intake {
  /**
   * The lines come in the order in which they are known. The promise resolves when the whole request is admitted.
   * @throws {@link ProtocolError} for a request refused whole: `QUEUE_FULL` or `UNAVAILABLE` (D21).
   */
  submit(caller: Caller, transactions: readonly string[], wait: Wait): Promise<AsyncIterable<ResultLine>>;
  /**
   * The lines of earlier submissions of this key (D23).
   * @throws {@link ProtocolError} `UNAVAILABLE`.
   */
  watch(caller: Caller, ids: readonly string[], wait: Wait): Promise<AsyncIterable<ResultLine>>;
  /** Refuses what comes from now on. */
  refuse(): void;
  readonly refusing: boolean;
  /** Answers the lines that wait with what is known. */
  end(): void;
}

export interface IntakeDependencies {
  readonly store: Store;
  readonly results: Results;
  readonly metrics: Metrics;
  readonly options: ResolvedOptions;
  readonly log: Logger;
  readonly policies: Pick<PolicySource, "current">;
  readonly chainRef: number;
  /** Names this replica. */
  readonly replica: string;
  /** The lane for a sender that has nothing under way: 20 bytes. */
  chooseLane(): Uint8Array;
  /** Tells whoever works these lanes that there is work. */
  wakeLanes(waivers: readonly Uint8Array[]): void;
}

export function createIntake(dependencies: IntakeDependencies): Intake {
  const { store, results, metrics, options, policies, chainRef, replica, chooseLane, wakeLanes } =
    dependencies;
  const place = { chain: chainRef, origin: replica };
  const acceptAll = groupAccepts((applicants) => accept(store, place, applicants));
  const rulesOf = (caller: Caller): InnerTxRules => ({
    chainId: BigInt(options.chainId),
    maxGasLimit: caller.limits.maxGasLimit,
    maxDataLength: caller.limits.maxDataLength,
    policy: policies.current(),
    policyName: "the policy of this service's waivers",
    scope: scopeOf(caller),
    scopeName: "the scope of this API key",
  });
  const ending = new AbortController();
  // Every request that waits listens to it.
  setMaxListeners(0, ending.signal);
  let refusing = false;
  const admission = createAdmission(dependencies);
  return {
    async submit(caller, transactions, wait) {
      if (refusing) throw shuttingDown();
      const leave = await storeErrors(() => admission.enter(caller, transactions.length));
      try {
        const rules = rulesOf(caller);
        const examined = transactions.map((text) => examine(text, caller, rules));
        const applicants = giveLanes(
          examined.flatMap((e) => ("applicant" in e ? [e.applicant] : [])),
          chooseLane,
        );
        const lines = awaitLines({ store, results, metrics, options, wait, closing: ending.signal });
        // Before the write: no news can be missed.
        lines.expect(applicants.map(({ id }) => id));
        const acceptances = await storeErrors(() => acceptAll(applicants)).catch((error) => {
          lines.cancel();
          throw error;
        });
        const taken = acceptances.flatMap((a) => (a.kind === "accepted" ? [a.waiver] : []));
        metrics.accepted(taken.length);
        if (taken.length > 0) wakeLanes(taken);
        const outcomes = new Map(applicants.map(({ id }, i) => [id, acceptances[i]]));
        return lines.stream(examined.map((e, index) => entryOf(e, index, outcomes)));
      } finally {
        leave();
      }
    },
    async watch(caller, ids, wait) {
      if (refusing) throw shuttingDown();
      const request = { store, results, metrics, options, wait, closing: ending.signal };
      return await storeErrors(() => resumeLines(request, caller, ids));
    },
    refuse() {
      refusing = true;
    },
    get refusing() {
      return refusing;
    },
    end: () => ending.abort(),
  };
}

type Examined = { readonly id: string } & (
  | { readonly applicant: Omit<Applicant, "waiver"> }
  | { readonly error: ProtocolError }
);

/** Parses and validates one string: pure. */
function examine(text: string, caller: Caller, rules: InnerTxRules): Examined {
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

/** A store that does not answer makes the service unavailable (D21); anything else is a fault of ours. */
export async function storeErrors<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!isStoreUnavailable(error)) throw error;
    throw new ProtocolError(
      "STORE_UNAVAILABLE",
      "the store does not answer; nothing was accepted for sure",
      {},
      { cause: error },
    );
  }
}

export function shuttingDown(): ProtocolError {
  return new ProtocolError("SHUTTING_DOWN", "the service is shutting down");
}
