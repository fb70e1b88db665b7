import { bytesEqual, bytesToHex } from "@gas-waiver/protocol";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import {
  closeWithdrawnWrappers,
  type DoubtedWrapper,
  findDoubtedWrappers,
  forgetWithdrawnWrappers,
  type NonceRange,
} from "../../store/lanes/nonces/withdrawnWrappers.js";
import { findUnfinished, type UnfinishedSubmission } from "../../store/lanes/queue/unfinished.js";
import { wakeQueued } from "../../store/transitions/wakeQueued.js";
import type { WatchContext } from "../context.js";
import {
  CANDIDATES_PER_BATCH,
  type ChainOutcome,
  chainOutcomes,
  RECEIPT_BATCH,
} from "../law/chainOutcomes.js";
import { reconcile } from "../law/reconcile.js";

/** Asks a little. @returns the time until there is more to ask, in ms; undefined while there is nothing. */
export type Question = (held: HeldLane) => Promise<number | undefined>;

/*
 * A lane doubts what became of a submission whose waiver nonce the chain has used while the InnerTx has no receipt, and of
 * a withdrawn wrapper that may still land (D28). Doubts are looked at in pages, half of them of the youngest: however many
 * there are, nothing else waits for them.
 */

/** The wrappers of one page, and the pages of what the chain has passed that are looked at before anything else. */
const PAGE = RECEIPT_BATCH;
const PAGES_AT_ONCE = 10;
/** The most unproven nonces that one line of the log names. */
const NAMED_NONCES = 10;
/** The rest after a question. It doubles with each search, and each round of the doubts, that finds nothing new. */
const MIN_REST_MS = 200;
const MAX_REST_MS = 2_000;
const longer = (restMs: number) => Math.min(MAX_REST_MS, 2 * restMs);

/** @param onNews called when there are new doubts, or new proofs. */
export function createDoubts(context: WatchContext, onNews: () => void) {
  const { store, chain, nonceProofs } = context;
  let next = 0n;
  let restMs = MIN_REST_MS;
  const noteNews = () => {
    restMs = MIN_REST_MS;
    onNews();
  };
  const pages = createPages((held, range) =>
    findDoubtedWrappers(store, held, { ...range, below: next, openBeyond: true }),
  );
  const askForOutcomes: Question = async (held) => {
    const page = await pages.next(held);
    // Nobody follows the nonce of a lane that has only withdrawn wrappers.
    const isAhead = page.some(({ waiverNonce }) => waiverNonce >= next);
    const [chainNonce = next] = isAhead ? await chain.nonces([held.waiver]) : [];
    const passed = page.filter(({ waiverNonce }) => waiverNonce < chainNonce);
    if (passed.length === 0) return undefined;
    await settle(held, passed, context, { asksEach: true });
    if (pages.isAtStart()) restMs = longer(restMs);
    return restMs;
  };
  const nameUnproven = createUnprovenLog(context);
  let searchRestMs = MIN_REST_MS;
  const searchProofs: Question = async () => {
    nameUnproven();
    if (!nonceProofs.isSearching) return undefined;
    const found = await nonceProofs.search();
    searchRestMs = found === "rest" ? longer(searchRestMs) : MIN_REST_MS;
    if (found === "found") noteNews();
    return searchRestMs;
  };
  return {
    /** The proofs of what used nonces, and the doubts themselves. */
    questions: [searchProofs, askForOutcomes],
    /**
     * Looks once for the outcome of everything that the chain has passed since the last call, the newest first. What has no
     * receipt is a doubt from then on.
     * @param waiverNonce the waiver's next nonce.
     */
    async follow(held: HeldLane, waiverNonce: bigint): Promise<void> {
      const known = next < waiverNonce ? next : waiverNonce;
      next = waiverNonce;
      if (!(await settleNewest(held, { from: known, below: waiverNonce }, context))) noteNews();
    },
  };
}

/**
 * Settles what is in doubt in a range of waiver nonces, the newest first, up to some pages.
 * @returns whether all have receipts.
 */
async function settleNewest(
  held: HeldLane,
  { from, below }: Pick<NonceRange, "from" | "below">,
  context: WatchContext,
): Promise<boolean> {
  let isClear = true;
  let end = below;
  for (let pages = 0; pages < PAGES_AT_ONCE; pages++) {
    const range = { from, below: end, first: "highest", limit: PAGE } as const;
    const page = await findDoubtedWrappers(context.store, held, range);
    isClear = (await settle(held, page, context)) && isClear;
    end = page.at(-1)?.waiverNonce ?? from;
    if (page.length < PAGE) break;
  }
  return isClear;
}

/** @returns a function that logs when nonces begin to be unproven, and when none is any more. */
function createUnprovenLog({ nonceProofs, log }: Pick<WatchContext, "nonceProofs" | "log">) {
  let isTold = false;
  return (): void => {
    const unproven = nonceProofs.unproven();
    if (unproven.length > 0 === isTold) return;
    isTold = !isTold;
    const nonces = unproven
      .slice(0, NAMED_NONCES)
      .map(({ account, nonce }) => `${bytesToHex(account)} ${nonce}`);
    if (isTold)
      log.warn(
        { count: unproven.length, nonces },
        "unprovable: no block that a node shows tells who used these nonces; their submissions wait, and no others",
      );
    else log.info("blocks tell who used the nonces that were unprovable");
  };
}

/** Reads page after page, around and around. Between two pages of a round, it reads the one with the youngest. */
function createPages(
  read: (held: HeldLane, range: Omit<NonceRange, "below">) => Promise<readonly DoubtedWrapper[]>,
) {
  let from = 0n;
  let isYoungestNext = false;
  return {
    /** Whether the last page was the end of a round. */
    isAtStart: () => from === 0n,
    async next(held: HeldLane): Promise<readonly DoubtedWrapper[]> {
      const isYoungest = isYoungestNext;
      isYoungestNext = false;
      if (isYoungest) return await read(held, { from: 0n, first: "highest", limit: PAGE });
      const page = await read(held, { from, first: "lowest", limit: PAGE });
      const last = page.length < PAGE ? undefined : page.at(-1);
      from = last ? last.waiverNonce + 1n : 0n;
      isYoungestNext = last !== undefined;
      return page;
    },
  };
}

/**
 * Brings the submissions of these wrappers to their outcomes, and closes the wrappers that can never land, because a final
 * block shows another transaction under their nonces. A wrapper that landed stays open until its submission is included. A
 * submission that is by now in another lane is planned again at once.
 * @returns whether all have receipts.
 */
async function settle(
  held: HeldLane,
  wrappers: readonly DoubtedWrapper[],
  context: WatchContext,
  options?: { readonly asksEach: boolean },
): Promise<boolean> {
  const { store, nonceProofs } = context;
  const submissions = new Map(wrappers.map(({ submission }) => [submission.id, submission]));
  const isClear = await reconcile(held, [...submissions.values()], context, options);
  const landed: string[] = [];
  const dead: DoubtedWrapper[] = [];
  for (const wrapper of wrappers.filter(({ isOpen }) => isOpen)) {
    const { waiverNonce: nonce, sinceBlock } = wrapper;
    const use = await nonceProofs.find({ account: held.waiver, nonce, sinceBlock, isUrgent: true });
    if (use === undefined) continue;
    if (bytesEqual(use.transaction.hash, wrapper.wrapperHash)) landed.push(wrapper.submission.id);
    else dead.push(wrapper);
  }
  await closeWithdrawnWrappers(store, held, dead);
  await wakeQueued(store, held, landed);
  return isClear;
}

/** A submission on whose state store and chain disagree. */
export interface Finding {
  readonly candidate: UnfinishedSubmission;
  readonly outcome: Exclude<ChainOutcome, { kind: "open" }>;
}

const LOWEST_ID = "00000000-0000-0000-0000-000000000000";

/** Compares everything that the lane has not finished with the chain. Changes nothing. */
export async function examine(
  lane: Pick<HeldLane, "chain" | "waiver">,
  context: Pick<WatchContext, "store" | "chain">,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  let after = LOWEST_ID;
  for (;;) {
    const candidates = await findUnfinished(context.store, lane, after, CANDIDATES_PER_BATCH);
    const outcomes = await chainOutcomes(lane.waiver, candidates, context);
    candidates.forEach((candidate, i) => {
      const outcome = outcomes[i];
      if (outcome && outcome.kind !== "open") findings.push({ candidate, outcome });
    });
    const last = candidates.at(-1);
    if (last === undefined || candidates.length < CANDIDATES_PER_BATCH) return findings;
    after = last.id;
  }
}

/**
 * Reconciles everything that the lane has not finished with the chain, page by page, at the lane's start and each
 * `sweepIntervalMs`: it finds the outcomes that nobody else has looked for.
 */
export function createSweep(context: WatchContext): Question {
  let after = LOWEST_ID;
  return async (held) => {
    if (after === LOWEST_ID) await forgetWithdrawnWrappers(context.store, held);
    const page = await findUnfinished(context.store, held, after, RECEIPT_BATCH);
    await reconcile(held, page, context);
    const last = page.length < RECEIPT_BATCH ? undefined : page.at(-1);
    after = last?.id ?? LOWEST_ID;
    return last ? 0 : context.options.sweepIntervalMs;
  };
}
