import { ProtocolError, type Wait } from "@gas-waiver/protocol";
import type { LaneSet } from "../lane/laneSet.js";
import { type Caller, partyOf } from "../model/keys/caller.js";
import type { ResolvedOptions } from "../model/options/options.js";
import { PRICES } from "../model/prices.js";
import { shuttingDown } from "../model/shuttingDown.js";
import type { Logger } from "../model/telemetry/log.js";
import type { Metrics } from "../model/telemetry/metrics.js";
import { rulesFor } from "../policy/rules.js";
import type { PolicySource } from "../policy/source.js";
import { partOfRequest } from "../policy/validateInTurns.js";
import { linesOf, OpenRequests, ResultLines, type ResultLinesOptions } from "../results/lines.js";
import type { Refusals } from "../results/refusals.js";
import type { LineGroup } from "../results/resultLine.js";
import type { Results } from "../results/results.js";
import { resumeLines } from "../results/resume.js";
import type { SubmissionsByHash } from "../results/submissionsByHash.js";
import { createAcceptAll } from "../store/accept/acceptAll.js";
import type { IdempotentRequest } from "../store/accept/idempotentRequests.js";
import { Places } from "../store/accept/places.js";
import { mapStoreErrors } from "../store/database/storeTrouble.js";
import type { Store } from "../store/store.js";
import type { LoopQueue } from "../util/loopQueue.js";
import { BatchAcceptor } from "./acceptBatch.js";
import { Admission } from "./admission.js";
import {
  type AcceptedSubmission,
  createIdempotency,
  type Idempotency,
  keyedRequestOf,
} from "./idempotency.js";

/** The optional terms of one request. */
export interface SubmitTerms {
  /** The client's key for the request (D18). A repeated key gives the lines of the first request. */
  readonly idempotencyKey?: string | undefined;
  /**
   * Gives back the tokens of the request. Called if the request is refused before any of it was examined: to examine a
   * transaction costs a signature's recovery, whatever becomes of the request. Not called for a reused idempotency key.
   */
  refund?(): void;
  /** The most ms that lines wait for their results, where that is less than the service's own limit. */
  readonly timeoutMs?: number | undefined;
}

export interface IntakeDependencies {
  readonly store: Store;
  /** The store, over the connections for reading. */
  readonly reading: Store;
  /** @throws {@link StoreUnavailableError} while the store is known to accept no writes. */
  readonly assertStoreWritable: () => void;
  readonly results: Results;
  readonly refusals: Pick<Refusals, "keep" | "find">;
  readonly byHash: Pick<SubmissionsByHash, "readable" | "standing">;
  readonly metrics: Metrics;
  readonly options: ResolvedOptions;
  readonly log: Logger;
  readonly policies: Pick<PolicySource, "current">;
  readonly offer: LaneSet["offer"];
  readonly chainRef: number;
  /** The queue for the event loop of the process. */
  readonly loop: LoopQueue;
  /** Names this replica. */
  readonly replica: string;
  /** Chooses a lane, among those of the carriers, for a sender without unfinished submissions. @returns 20 bytes. */
  chooseLane(carriers: readonly Uint8Array[] | undefined): Uint8Array;
  /** Notifies the owners of these lanes, on this replica or another, of new submissions. */
  wakeLanes(waivers: readonly Uint8Array[]): void;
}

/** Stands for all calldata shorter than a selector, which policies treat alike (D4). */
const NO_CALLDATA = new Uint8Array(0);

/** Takes batches of signed InnerTxs: admits them to the queue, accepts them, and gives the lines of their results. */
export class Intake {
  readonly #dependencies: IntakeDependencies;
  readonly #admission: Admission;
  readonly #idempotency: Idempotency;
  readonly #acceptor: BatchAcceptor;
  readonly #openRequests = new OpenRequests();
  readonly #closing = new AbortController();
  #isStopping = false;

  constructor(dependencies: IntakeDependencies) {
    this.#dependencies = dependencies;
    const { store, options, policies, refusals, log, chainRef, replica, loop } = dependencies;
    const { chooseLane, offer } = dependencies;
    const place = { chain: chainRef, origin: replica, places: new Places(store.laneFloors) };
    this.#admission = new Admission(dependencies);
    this.#idempotency = createIdempotency({ store, retentionMs: options.idempotencyMs, place });
    this.#acceptor = new BatchAcceptor({
      acceptAll: createAcceptAll(store, place, offer),
      idempotency: this.#idempotency,
      carriersOf: (target, selector = NO_CALLDATA) => policies.current().waiversFor(target, selector),
      chooseLane,
      loop,
      newId: store.newId,
      onAccepted: (accepted) => this.#onAccepted(accepted),
      isStopping: () => this.#isStopping,
      findStanding: dependencies.byHash.standing,
      refusals,
      log,
    });
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  /**
   * Resolves when the whole request is admitted and its first transactions are in the store.
   * @returns the lines, each as soon as it is known.
   * @throws {@link ProtocolError} for a request refused whole: `QUEUE_FULL`, `UNAVAILABLE` or `INVALID_REQUEST` (D21).
   */
  async submit(
    caller: Caller,
    transactions: readonly string[],
    wait: Wait,
    { idempotencyKey, refund = () => {}, timeoutMs }: SubmitTerms = {},
  ): Promise<AsyncIterable<LineGroup>> {
    const { options, policies, chainRef: chain, loop } = this.#dependencies;
    const keyed =
      idempotencyKey === undefined
        ? undefined
        : await keyedRequestOf(caller, idempotencyKey, transactions, { chain, loop });
    const entered = await this.#enter(caller, transactions.length, keyed).catch((error: unknown) => {
      // No refund here: each attempt to probe an idempotency key costs the store a query.
      if (!(error instanceof ProtocolError && error.reason === "IDEMPOTENCY_KEY_REUSED")) refund();
      throw error;
    });
    if ("earlier" in entered) return linesOf(this.#linesOptions(caller, wait, timeoutMs), entered.earlier);
    const { admitted, isBegun } = entered;
    const lines = new ResultLines(this.#linesOptions(caller, wait, timeoutMs));
    try {
      const rules = rulesFor(caller, options, policies.current());
      const request = { caller, rules, lines, keyed, isBegun, onDecided: admitted.leave };
      const { completed } = await this.#acceptor.accept(transactions, request);
      void completed.finally(admitted.leaveAll);
    } catch (error) {
      lines.cancel();
      admitted.leaveAll();
      throw error;
    }
    return lines.stream();
  }

  /** Finds the decisions of the same request, or reserves room in the queue. Examines nothing. */
  async #enter(caller: Caller, transactions: number, keyed: IdempotentRequest | undefined) {
    if (this.#isStopping) throw shuttingDown();
    return await mapStoreErrors(async () => {
      this.#dependencies.assertStoreWritable();
      const earlier = keyed && (await this.#idempotency.replay(keyed));
      if (earlier !== undefined && earlier !== "open") return { earlier };
      const admitted = await this.#admission.admit(caller, transactions);
      return { admitted, isBegun: earlier === "open" };
    });
  }

  /**
   * Gives the lines of earlier submissions of this key (D23), and those that were refused.
   * @param names ids, or hashes of transactions.
   * @throws {@link ProtocolError} of code `UNAVAILABLE`.
   */
  async watch(caller: Caller, names: readonly string[], wait: Wait): Promise<AsyncIterable<LineGroup>> {
    if (this.#isStopping) throw shuttingDown();
    return await mapStoreErrors(() =>
      resumeLines(this.#linesOptions(caller, wait), caller, names, this.#dependencies),
    );
  }

  /** Refuses all further requests. */
  stopAccepting(): void {
    this.#isStopping = true;
  }

  /** Resolves when no request waits for lines. */
  linesEnded(): Promise<void> {
    return this.#openRequests.ended();
  }

  /** Ends all open lines with what is known. */
  endLines(): void {
    this.#closing.abort();
  }

  #linesOptions(caller: Caller, wait: Wait, timeoutMs = Number.POSITIVE_INFINITY): ResultLinesOptions {
    const { reading, results, metrics, loop, options: own } = this.#dependencies;
    const options = { requestTimeoutMs: Math.min(timeoutMs, own.requestTimeoutMs) };
    const waiting = { wait, openRequests: this.#openRequests, closing: this.#closing.signal };
    const inTurn: ResultLinesOptions["inTurn"] = (lines, make) =>
      loop.run(partyOf(caller), lines * PRICES.notification, make, partOfRequest(lines));
    return { store: reading, results, metrics, options, inTurn, ...waiting };
  }

  #onAccepted(accepted: readonly AcceptedSubmission[]): void {
    const { metrics, wakeLanes } = this.#dependencies;
    const queued = accepted.filter(({ isSigned }) => !isSigned);
    metrics.accepted(accepted.length, accepted.length - queued.length);
    if (queued.length > 0) wakeLanes(queued.map(({ waiver }) => waiver));
  }
}
