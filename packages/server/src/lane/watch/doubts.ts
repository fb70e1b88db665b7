import { bytesEqual, bytesToHex } from "@gas-waiver/protocol";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import { findInFlight } from "../../store/lanes/nonces/inFlight.js";
import {
  closeWithdrawnWrappers,
  findOpenWrappers,
  type OpenWrapper,
} from "../../store/lanes/nonces/withdrawnWrappers.js";
import { findUnfinishedByIds } from "../../store/lanes/queue/unfinished.js";
import { wakeQueued } from "../../store/transitions/wakeQueued.js";
import type { WatchContext } from "../context.js";
import { RECEIPT_BATCH } from "../law/chainOutcomes.js";
import { reconcile } from "../law/reconcile.js";

/** Asks a little. @returns the time until there is more to ask, in ms; undefined while there is nothing. */
export type Question = (held: HeldLane) => Promise<number | undefined>;

/*
 * A lane doubts what became of a submission whose waiver nonce the chain has used while the InnerTx has no receipt, and of
 * a withdrawn wrapper that may still land (D28). Doubts are looked at in pages, half of each for the youngest: however many
 * there are, nothing else waits for them.
 */
export interface Doubts {
  /**
   * Looks once for the outcome of everything that the chain has passed since the last call, the newest first. What has no
   * receipt is a doubt from then on.
   * @param waiverNonce the waiver's next nonce.
   */
  follow(held: HeldLane, waiverNonce: bigint): Promise<void>;
  /** The proofs of what used nonces, what the chain has passed, and the open wrappers. */
  readonly questions: readonly Question[];
}

/** The submissions of one page, and the pages of what the chain has passed that are looked at before anything else. */
const PAGE = RECEIPT_BATCH;
const PAGES_AT_ONCE = 10;
/** Open wrappers of one page. */
const OPEN_PAGE = 50;
/** The most unproven nonces that one line of the log names. */
const NAMED_NONCES = 10;
/** The rest after a look. It doubles with each round that finds nothing new. */
const MIN_REST_MS = 200;
const MAX_REST_MS = 2_000;

interface Row {
  readonly waiverNonce: bigint;
}
/** Reads the rows from a nonce on, from one end of the range. */
type ReadRows<T> = (
  held: HeldLane,
  range: { readonly from: bigint; readonly first: "lowest" | "highest"; readonly limit: number },
) => Promise<T[]>;
/** @returns whether there was anything to judge. */
type Judge<T> = (held: HeldLane, page: readonly T[]) => Promise<boolean>;

/** @param onNews called when there are new doubts, or new proofs. */
export function createDoubts(context: WatchContext, onNews: () => void): Doubts {
  const { store, chain, nonceProofs } = context;
  let next = 0n;
  let restMs = MIN_REST_MS;
  const noteNews = () => {
    restMs = MIN_REST_MS;
    onNews();
  };
  const askInPages = <T extends Row>(size: number, read: ReadRows<T>, judge: Judge<T>): Question => {
    const pages = createPages(size, read);
    return async (held) => {
      const page = await pages.next(held);
      if (page.length === 0 || !(await judge(held, page))) return undefined;
      if (pages.isAtStart()) restMs = Math.min(MAX_REST_MS, 2 * restMs);
      return restMs;
    };
  };
  const passed = askInPages(
    PAGE,
    (held, range) => findInFlight(store, held, { ...range, below: next }),
    async (held, page) => {
      await reconcile(held, page, context);
      return true;
    },
  );
  const open = askInPages(
    OPEN_PAGE,
    (held, range) => findOpenWrappers(store, held, range),
    async (held, page) => {
      const [chainNonce = 0n] = await chain.nonces([held.waiver]);
      const used = page.filter(({ waiverNonce }) => waiverNonce < chainNonce);
      const ids = used.map(({ submission }) => submission);
      await reconcile(held, await findUnfinishedByIds(store, held, ids), context);
      await judgeWrappers(held, used, context);
      return used.length > 0;
    },
  );
  const nameUnproven = createUnprovenLog(context);
  let searchRestMs = MIN_REST_MS;
  const proofs: Question = async () => {
    nameUnproven();
    if (!nonceProofs.isSearching) return undefined;
    const found = await nonceProofs.search();
    searchRestMs = found === "rest" ? Math.min(MAX_REST_MS, 2 * searchRestMs) : MIN_REST_MS;
    if (found === "found") noteNews();
    return searchRestMs;
  };
  return {
    questions: [proofs, passed, open],
    async follow(held, waiverNonce) {
      const known = next < waiverNonce ? next : waiverNonce;
      next = waiverNonce;
      if (!(await reconcileNewest(held, { from: known, below: waiverNonce }, context))) noteNews();
    },
  };
}

/**
 * Reconciles what is in flight in a range of waiver nonces, the newest first, up to some pages.
 * @returns whether all have receipts.
 */
async function reconcileNewest(
  held: HeldLane,
  { from, below }: { readonly from: bigint; readonly below: bigint },
  context: WatchContext,
): Promise<boolean> {
  let isClear = true;
  let end = below;
  for (let pages = 0; pages < PAGES_AT_ONCE; pages++) {
    const range = { from, below: end, first: "highest", limit: PAGE } as const;
    const page = await findInFlight(context.store, held, range);
    isClear = (await reconcile(held, page, context)) && isClear;
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

/** Reads page after page, around and around: half of each from where the one before ended, the other half the youngest. */
function createPages<T extends Row>(size: number, read: ReadRows<T>) {
  const half = Math.ceil(size / 2);
  let from = 0n;
  return {
    /** Whether the last page was the end of a round. */
    isAtStart: () => from === 0n,
    async next(held: HeldLane): Promise<T[]> {
      const older = await read(held, { from, first: "lowest", limit: half });
      const last = older.at(-1);
      const isEnd = older.length < half || last === undefined;
      const startedAt = from;
      from = isEnd ? 0n : last.waiverNonce + 1n;
      if (isEnd && startedAt === 0n) return older;
      const youngest = await read(held, { from: 0n, first: "highest", limit: size - half });
      const isRead = ({ waiverNonce }: Row) => waiverNonce >= startedAt && (isEnd || waiverNonce < from);
      return [...older, ...youngest.filter((row) => !isRead(row))];
    },
  };
}

/**
 * Closes the wrappers that can never land, because a final block shows another transaction under their nonces. A wrapper
 * that landed stays open until its submission is included. A submission that is by now in another lane is planned again
 * at once.
 */
async function judgeWrappers(
  held: HeldLane,
  wrappers: readonly OpenWrapper[],
  { store, nonceProofs }: Pick<WatchContext, "store" | "nonceProofs">,
): Promise<void> {
  const landed: string[] = [];
  const dead: OpenWrapper[] = [];
  for (const wrapper of wrappers) {
    const { waiverNonce: nonce, sinceBlock } = wrapper;
    const use = await nonceProofs.find({ account: held.waiver, nonce, sinceBlock });
    if (use === undefined) continue;
    if (bytesEqual(use.transaction.hash, wrapper.wrapperHash)) landed.push(wrapper.submission);
    else dead.push(wrapper);
  }
  await closeWithdrawnWrappers(store, held, dead);
  await wakeQueued(store, held, landed);
}
