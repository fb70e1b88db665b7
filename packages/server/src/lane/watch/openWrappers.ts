import { bytesEqual } from "@gas-waiver/protocol";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import {
  closeWithdrawnWrappers,
  findOpenWrappers,
  type OpenWrapper,
} from "../../store/lanes/nonces/withdrawnWrappers.js";
import { findUnfinishedByIds } from "../../store/lanes/queue/unfinished.js";
import { wakeQueued } from "../../store/transitions/wakeQueued.js";
import type { WatchContext } from "../context.js";
import { reconcile } from "../law/reconcile.js";

/**
 * Finds the fate of withdrawn wrappers that may still land (D28). While the fate is open, a wrapper's submission cannot
 * fail, and may wait in the queue although it has run.
 */
export interface OpenWrapperSearch {
  /**
   * Looks at some of the open wrappers whose nonces the chain has used, at most once a second. Without open wrappers, this
   * costs one query of the store.
   */
  run(held: HeldLane): Promise<void>;
}

/** The least time between two runs, in ms. */
const INTERVAL_MS = 1_000;
/** The next run is this many times as long away as the last one took: each nonce costs some dozen requests to the node. */
const REST_FACTOR = 4;
/** The lane's wrappers in flight wait for a run. */
const MAX_RUN_MS = 300;
const MAX_WRAPPERS = 50;
/** A nonce without a proof is looked up again after a pause that doubles up to this one: its block may not be final yet. */
const MAX_PAUSE_MS = 30_000;
/** The most nonces whose pauses are remembered. The oldest are forgotten, and looked up once more. */
const MAX_REMEMBERED = 1_000;

/** @param now a monotonic clock in ms. */
export function createOpenWrapperSearch(
  context: WatchContext,
  now: () => number = () => performance.now(),
): OpenWrapperSearch {
  const { store, chain } = context;
  const pauses = createPauses(now);
  let nextAt = Number.NEGATIVE_INFINITY;
  const search = async (held: HeldLane, startedAt: number) => {
    const find = () => findOpenWrappers(store, held, pauses.current(), MAX_WRAPPERS);
    const open = await find();
    if (open.length === 0) return;
    const [chainNonce = 0n] = await chain.nonces([held.waiver]);
    const isPassed = ({ waiverNonce }: OpenWrapper) => waiverNonce < chainNonce;
    const passed = open.filter(isPassed);
    if (passed.length === 0) return;
    const ids = passed.map(({ submission }) => submission);
    await reconcile(held, await findUnfinishedByIds(store, held, ids), context);
    const remaining = (await find()).filter(isPassed);
    // Several wrappers may have had one nonce after each other.
    for (const nonce of new Set(remaining.map(({ waiverNonce }) => waiverNonce))) {
      const ofNonce = remaining.filter(({ waiverNonce }) => waiverNonce === nonce);
      if (await judge(held, nonce, ofNonce, context)) pauses.end(nonce);
      else pauses.begin(nonce);
      if (now() - startedAt > MAX_RUN_MS) return;
    }
  };
  return {
    async run(held) {
      const startedAt = now();
      if (startedAt < nextAt) return;
      try {
        await search(held, startedAt);
      } finally {
        nextAt = now() + Math.max(INTERVAL_MS, REST_FACTOR * (now() - startedAt));
      }
    },
  };
}

/**
 * Closes the wrappers under this nonce that can never land, because a final block shows another transaction there. A
 * wrapper that landed stays open until its submission is included. A submission that is by now in another lane is planned
 * again at once.
 * @returns false if no final block shows who used the nonce.
 */
async function judge(
  held: HeldLane,
  nonce: bigint,
  wrappers: readonly OpenWrapper[],
  { store, nonceProofs }: Pick<WatchContext, "store" | "nonceProofs">,
): Promise<boolean> {
  const use = await nonceProofs.find({ account: held.waiver, nonce });
  if (use === undefined) return false;
  const hasLanded = ({ wrapperHash }: OpenWrapper) => bytesEqual(use.transaction.hash, wrapperHash);
  await closeWithdrawnWrappers(
    store,
    held,
    wrappers.filter((one) => !hasLanded(one)),
  );
  const landed = wrappers.filter(hasLanded).map(({ submission }) => submission);
  await wakeQueued(store, held, landed);
  return landed.length === 0;
}

/** The pauses of nonces whose use was not found. */
function createPauses(now: () => number) {
  const pauses = new Map<bigint, { readonly until: number; readonly ms: number }>();
  return {
    current: () => [...pauses].filter(([, { until }]) => now() < until).map(([nonce]) => nonce),
    begin(nonce: bigint): void {
      const ms = Math.min(MAX_PAUSE_MS, 2 * (pauses.get(nonce)?.ms ?? INTERVAL_MS));
      pauses.delete(nonce);
      pauses.set(nonce, { until: now() + ms, ms });
      const [oldest] = pauses.keys();
      if (pauses.size > MAX_REMEMBERED && oldest !== undefined) pauses.delete(oldest);
    },
    end(nonce: bigint): void {
      pauses.delete(nonce);
    },
  };
}
