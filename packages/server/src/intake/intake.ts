import { setMaxListeners } from "node:events";
import type { ResultLine, Wait } from "@gas-waiver/protocol";
import type { ExpectedSenders } from "../lane/expectedSenders.js";
import type { Caller } from "../model/caller.js";
import type { Logger } from "../model/log.js";
import type { Metrics } from "../model/metrics.js";
import type { ResolvedOptions } from "../model/options.js";
import { shuttingDown, storeErrors } from "../model/unavailable.js";
import { rulesFor } from "../policy/rules.js";
import type { PolicySource } from "../policy/source.js";
import { awaitLines, linesOf } from "../results/lines.js";
import type { Results } from "../results/results.js";
import { resumeLines } from "../results/resume.js";
import { createAcceptAll } from "../store/acceptAll.js";
import type { Store } from "../store/store.js";
import { createBatchAcceptor } from "./acceptBatch.js";
import { createAdmission } from "./admission.js";
import { createIdempotency, keyedRequestOf } from "./idempotency.js";

/** Takes batches of signed InnerTxs: admit, take (`take.ts`), then await the results (`lines.ts`). */
export interface Intake {
  /**
   * The lines come in the order in which they are known. The promise resolves when the whole request is admitted
   * and the first of its transactions are in the store.
   * @param name what its client calls the request (D18): one that came before is replayed.
   * @throws {@link ProtocolError} for a request refused whole: `QUEUE_FULL`, `UNAVAILABLE` or `INVALID_REQUEST` (D21).
   */
  submit(
    caller: Caller,
    transactions: readonly string[],
    wait: Wait,
    name?: string,
  ): Promise<AsyncIterable<ResultLine>>;
  /**
   * The lines of earlier submissions of this key (D23).
   * @throws {@link ProtocolError} `UNAVAILABLE`.
   */
  watch(caller: Caller, ids: readonly string[], wait: Wait): Promise<AsyncIterable<ResultLine>>;
  /** Refuses what comes from now on. */
  stopAccepting(): void;
  readonly isStopping: boolean;
  /** Answers the lines that wait with what is known. */
  endLines(): void;
}

export interface IntakeDependencies {
  readonly store: Store;
  readonly results: Results;
  readonly metrics: Metrics;
  readonly options: ResolvedOptions;
  readonly log: Logger;
  readonly policies: Pick<PolicySource, "current">;
  readonly expected: Pick<ExpectedSenders, "add">;
  readonly chainRef: number;
  /** Names this replica. */
  readonly replica: string;
  /** The lane, of those of these waivers, for a sender that has nothing under way: 20 bytes. */
  chooseLane(carriers: readonly Uint8Array[] | undefined): Uint8Array;
  /** Tells whoever works these lanes that there is work. */
  wakeLanes(waivers: readonly Uint8Array[]): void;
}

/** What is shorter than a selector: to a policy it is all the same (D4). */
const NO_CALLDATA = new Uint8Array(0);

export function createIntake(dependencies: IntakeDependencies): Intake {
  const {
    store,
    results,
    metrics,
    options,
    policies,
    log,
    chainRef,
    replica,
    expected,
    chooseLane,
    wakeLanes,
  } = dependencies;
  const place = { chain: chainRef, origin: replica };
  const rulesOf = (caller: Caller) =>
    rulesFor(caller, { chainId: options.chainId, policies: policies.current() });
  const ending = new AbortController();
  // Every request that waits listens to it.
  setMaxListeners(0, ending.signal);
  let refusing = false;
  const admission = createAdmission(dependencies);
  const idempotency = createIdempotency({ store, keptMs: options.idempotencyMs, place });
  const taker = createBatchAcceptor({
    acceptAll: createAcceptAll(store, place),
    idempotency,
    carriersOf: (target, selector = NO_CALLDATA) => policies.current().waiversFor(target, selector),
    chooseLane,
    onAccepted(taken) {
      metrics.accepted(taken.length);
      for (const { waiver, sender } of taken) expected.add(waiver, sender);
      wakeLanes(taken.map(({ waiver }) => waiver));
    },
    isRefusing: () => refusing,
    log,
  });
  return {
    async submit(caller, transactions, wait, name) {
      if (refusing) throw shuttingDown();
      const request = { store, results, metrics, options, wait, closing: ending.signal };
      const keyed = name === undefined ? undefined : keyedRequestOf(caller, name, transactions, chainRef);
      const earlier = keyed && (await storeErrors(() => idempotency.replay(keyed)));
      if (earlier) return linesOf(request, earlier);
      const leave = await storeErrors(() => admission.admit(caller, transactions.length));
      const lines = awaitLines(request);
      try {
        const { others } = await taker.accept(transactions, { caller, rules: rulesOf(caller), lines, keyed });
        void others.finally(leave);
      } catch (error) {
        lines.cancel();
        leave();
        throw error;
      }
      return lines.stream();
    },
    async watch(caller, ids, wait) {
      if (refusing) throw shuttingDown();
      const request = { store, results, metrics, options, wait, closing: ending.signal };
      return await storeErrors(() => resumeLines(request, caller, ids));
    },
    stopAccepting() {
      refusing = true;
    },
    get isStopping() {
      return refusing;
    },
    endLines: () => ending.abort(),
  };
}
