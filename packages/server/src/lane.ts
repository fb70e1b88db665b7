import { decodeInnerTx, hashTransaction, privateKeyToAddress, signWrapperTx } from "@gas-waiver/protocol";
import type { Chain } from "./chain.js";
import { createDelivery, type Delivery } from "./deliver.js";
import type { Logger } from "./log.js";
import type { ResolvedOptions } from "./options.js";
import { freeNonces, type Plan, planSender } from "./plan.js";
import type { Results } from "./results.js";
import { type SignedSubmission, saveFailed, saveRequeued, saveSigned } from "./store/advance.js";
import { type Lane as HeldLane, LaneLostError, releaseLease, takeLease } from "./store/lease.js";
import { nextQueued, noncesUnderWay, postpone, type QueuedSubmission } from "./store/queue.js";
import type { Store } from "./store/Store.js";
import { firstOpenNonce, type TakenNonce, takenNonces, underWay } from "./store/underWay.js";
import { follow } from "./watch.js";

/** What a lane works with. */
export interface LaneDependencies {
  readonly store: Store;
  readonly chain: Chain;
  readonly results: Results;
  readonly log: Logger;
  readonly options: ResolvedOptions;
  /** The store's number of the chain. */
  readonly chainRef: number;
  /** Names this process among the replicas. */
  readonly owner: string;
}

/** One waiver key's lane: the only place that gives out its nonces. */
export interface Lane {
  readonly waiver: Uint8Array;
  /** There may be work. */
  wake(): void;
  /** Finishes the step under way and hands the lease over. */
  stop(): Promise<void>;
}

/** Submissions in one step, and wrappers that may be under way at once. */
const BATCH = 100;
const MAX_IN_FLIGHT = 1_000;
/** How long the lane rests without news. */
const IDLE_MS = 250;
/** When a submission ahead of its turn is looked at again. */
const EARLY_MS = 250;
const MAX_BACKOFF_MS = 1_000;

/**
 * Starts the lane of a waiver key. Its life is one loop, while it holds the lease:
 *
 * 1. send what is signed and was not taken yet: the same bytes;
 * 2. only when nothing is left of that, take what is queued, give it the lowest free nonces, sign, store;
 * 3. send that, in nonce order, as one batch.
 *
 * The watcher runs beside it and settles what blocks hold. Both write through guarded transitions, so neither can
 * undo what the other did.
 */
export function startLane(waiverKey: Uint8Array, dependencies: LaneDependencies): Lane {
  const { store, log, options, chainRef, owner } = dependencies;
  const waiver = privateKeyToAddress(waiverKey);
  const delivery = createDelivery(dependencies);
  const pause = createPause();
  let stopping = false;
  let held: HeldLane | undefined;

  const work = async () => {
    let failures = 0;
    while (!stopping) {
      let restMs = IDLE_MS;
      try {
        held = await takeLease(store, { chain: chainRef, waiver, owner }, options.leaseMs);
        if (held) restMs = (await step(held, waiverKey, dependencies, delivery)) ? 0 : IDLE_MS;
        failures = 0;
      } catch (error) {
        failures++;
        restMs = Math.min(MAX_BACKOFF_MS, 25 * 2 ** failures);
        logFailure(log, error, "lane");
      }
      if (restMs > 0) await pause.rest(restMs, failures === 0);
    }
  };
  const watchPause = createPause();
  const watch = async () => {
    while (!stopping) {
      try {
        if (held) await follow(held, dependencies, delivery);
      } catch (error) {
        logFailure(log, error, "watcher");
      }
      await watchPause.rest(options.pollIntervalMs, false);
    }
  };
  const loops = Promise.all([work(), watch()]);
  return {
    waiver,
    wake: () => pause.wake(),
    async stop() {
      stopping = true;
      pause.end();
      watchPause.end();
      await loops;
      if (held) {
        await releaseLease(store, held).catch((error: unknown) => logFailure(log, error, "lane"));
      }
    },
  };
}

function logFailure(log: Logger, error: unknown, who: string): void {
  const err = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  if (error instanceof LaneLostError) log.warn({ err }, `${who}: the lane has another owner`);
  else log.warn({ err }, `${who}: tries again`);
}

/** One step of the lane. True if there may be more to do at once. */
async function step(
  held: HeldLane,
  waiverKey: Uint8Array,
  dependencies: LaneDependencies,
  delivery: Delivery,
): Promise<boolean> {
  const { store } = dependencies;
  const unsent = await underWay(store, held, { state: "signed", limit: MAX_IN_FLIGHT });
  await delivery.send(held, unsent);
  const assigned = await assign(held, waiverKey, dependencies);
  if (assigned === 0) return false;
  await delivery.send(held, await underWay(store, held, { state: "signed", limit: MAX_IN_FLIGHT }));
  return true;
}

/** Gives queued submissions their waiver nonces and wrappers; says how many. */
async function assign(
  held: HeldLane,
  waiverKey: Uint8Array,
  { store, chain, options, results }: LaneDependencies,
): Promise<number> {
  const taken = await takenNonces(store, held);
  const room = Math.min(BATCH, MAX_IN_FLIGHT - taken.length);
  if (room <= 0) return 0;
  const queued = await nextQueued(store, held.chain, room);
  if (queued.length === 0 && taken.length === 0) return 0;
  const { plans, waiverNonce } = await planAll(held, queued, { store, chain, options });
  const failures = new Map(plans.flatMap((plan) => plan.failed.map((f) => [f.id, f] as const)));
  const failed = await saveFailed(store, held, [...failures.values()]);
  results.publish(failed, (id) => {
    const { reason = "NODE_REFUSED", message = "" } = failures.get(id) ?? {};
    return { state: "failed", reason, message };
  });
  await postpone(
    store,
    held,
    plans.flatMap((plan) => plan.early.map(({ id }) => id)),
    EARLY_MS,
  );
  const ready = plans.flatMap((plan) => plan.ready).slice(0, room);
  const first = await firstOpenNonce(store, held, waiverNonce);
  if (await fillHoles(store, held, first, taken, ready.length)) return 1;
  const nonces = freeNonces(first, new Set(taken.map((t) => t.waiverNonce)), ready.length);
  const signed = ready.map((submission, i) => sign(submission, nonces[i] ?? 0n, waiverKey, options));
  return (await saveSigned(store, held, signed)).length;
}

/** What each sender's submissions are to do, by the chain's nonces and what is under way. */
async function planAll(
  held: HeldLane,
  queued: readonly QueuedSubmission[][],
  { store, chain, options }: Pick<LaneDependencies, "store" | "chain" | "options">,
): Promise<{ plans: Plan[]; waiverNonce: bigint }> {
  const senders = queued.flatMap(([first]) => (first ? [first.sender] : []));
  // Before the chain is asked: what is settled in between counts as under way and as used, never as neither.
  const underWayOf = await noncesUnderWay(store, held.chain, senders);
  const [waiverNonce = 0n, ...onChain] = await chain.nonces([held.waiver, ...senders]);
  const plans = queued.map((ofSender, i) => {
    const sender = Buffer.from(senders[i] ?? []).toString("hex");
    return planSender(
      ofSender,
      onChain[i] ?? 0n,
      underWayOf.get(sender) ?? new Set(),
      options.nonceGapTimeoutMs,
    );
  });
  return { plans, waiverNonce };
}

/**
 * A waiver nonce below a taken one that nothing will take would hold up everything above it. Then the highest of
 * the lane are queued again, to come back under the missing nonces; a user's nonce lets an InnerTx run only once.
 * With them go their senders' others above the hole, or a user's later nonce would come before the earlier.
 */
async function fillHoles(
  store: Store,
  held: HeldLane,
  first: bigint,
  taken: readonly TakenNonce[],
  ready: number,
): Promise<boolean> {
  const highest = taken.at(-1)?.waiverNonce ?? first;
  const above = taken.filter(({ waiverNonce }) => waiverNonce >= first).length;
  const holes = Number(highest - first) + 1 - above;
  const missing = Math.min(holes - ready, above);
  if (taken.length === 0 || highest < first || missing <= 0) return false;
  const [hole = first] = freeNonces(first, new Set(taken.map(({ waiverNonce }) => waiverNonce)), 1);
  const senders = new Set(taken.slice(-missing).map(({ sender }) => sender));
  const ids = taken
    .filter(({ waiverNonce, sender }) => waiverNonce > hole && senders.has(sender))
    .map(({ id }) => id);
  return (await saveRequeued(store, held, ids, 0)).length > 0;
}

function sign(
  { id, innerRaw }: QueuedSubmission,
  waiverNonce: bigint,
  waiverKey: Uint8Array,
  { verificationGas }: ResolvedOptions,
): SignedSubmission {
  const wrapper = signWrapperTx(decodeInnerTx(innerRaw), waiverKey, { nonce: waiverNonce, verificationGas });
  return { id, waiverNonce, wrapperRaw: wrapper.raw, wrapperHash: hashTransaction(wrapper) };
}

/** A rest that ends early when there is news, or for good. */
function createPause() {
  let wakeUp: (() => void) | undefined;
  let news = false;
  let ended = false;
  return {
    /** Resolves after `ms`, or at once with news if `wakeable`. */
    rest(ms: number, wakeable: boolean): Promise<void> {
      if (ended || (news && wakeable)) {
        news = false;
        return Promise.resolve();
      }
      return new Promise((resolve) => {
        const done = () => {
          clearTimeout(timer);
          wakeUp = undefined;
          resolve();
        };
        const timer = setTimeout(done, ms);
        wakeUp = () => {
          if (wakeable || ended) {
            news = false;
            done();
          }
        };
      });
    },
    wake() {
      news = true;
      wakeUp?.();
    },
    end() {
      ended = true;
      wakeUp?.();
    },
  };
}
