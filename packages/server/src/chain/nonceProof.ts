import { bytesToHex } from "@gas-waiver/protocol";
import { forgetOldest } from "../util/forgetOldest.js";
import type { NodeClient } from "./client/nodeClient.js";
import { createFinalWalk, type WalkPlace } from "./finalWalk.js";
import {
  type AccountNonce,
  authorizedUseIn,
  type BlockAt,
  findRise,
  type NonceUse,
  useBy,
} from "./nonceUse.js";

export interface SearchedNonce extends AccountNonce {
  /** No block below this one used the nonce. Without it, the search goes back some thousand blocks. */
  readonly sinceBlock?: bigint | undefined;
  /** No receipt is to be expected that makes the search needless, so it begins at once. */
  readonly isUrgent?: boolean;
}

/**
 * Finds the transactions that used nonces (D28). The answer comes from the transaction list of a block that is final, never
 * from a nonce alone: nodes behind one address are not at one height, and receipts may come seconds after nonces.
 *
 * One walk over the final blocks serves all nonces that are asked for: it costs as many requests for ten thousand as for
 * one. A nonce for which it has far to go, or that it does not find, is looked for by the states of blocks too, which also
 * show the use by an authorization (EIP-7702). A nonce that the code of a delegated account used by creating a contract
 * leaves nothing in a block's list, so it is never proven.
 */
export type NonceProofs = ReturnType<typeof createNonceProofs>;

export interface NonceProofOptions {
  readonly chain: Pick<NodeClient, "blockNumber" | "blocks" | "blockHashes" | "noncesAt">;
  /** Blocks on top of one that make it final. */
  readonly reorgDepth: number;
  /** A monotonic clock in ms. */
  readonly now?: () => number;
  /** A nonce is looked for when it has been asked for during this time, in ms. Default: {@link SEARCH_AFTER_MS}. */
  readonly searchAfterMs?: number;
}

/**
 * A nonce is looked for from this time on, in ms: some nodes know a new nonce before the receipt that goes with it, which
 * mostly makes the search needless.
 */
export const SEARCH_AFTER_MS = 2_000;
/** A nonce for which nobody has asked during this time is forgotten, in ms. No node is longer behind. */
const REMEMBER_MS = 60_000;
/** A walk for a nonce of which no block is known goes back at most this many blocks. */
const MAX_WALKED_BLOCKS = 10_000n;
/** The search by states takes as many requests as walking over about so many blocks. */
const FAR_BLOCKS = 300n;
/** The states of blocks are asked again after a pause that doubles. */
const MIN_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;
/** A walk that has passed over missing blocks comes again after a pause, and after this time for each block, in ms. */
const AGAIN_MS_PER_BLOCK = 100;
/** A nonce counts as unproven after this time, in ms. */
const UNPROVEN_MS = 10_000;
/** The most nonces that are looked for. The oldest is forgotten, and looked for anew. */
const MAX_SEARCHES = 20_000;

/** The search for one nonce. */
interface Search extends SearchedNonce {
  readonly begunAt: number;
  isUrgent: boolean;
  askedAt: number;
  /** Undefined until the search has begun. */
  place: WalkPlace | undefined;
  /** The times from which on states may be asked, and the walk may come again. */
  statesAt: number;
  walkAt: number;
  pauseMs: number;
  use: NonceUse | undefined;
}
type Walking = Search & { place: WalkPlace };

const nameOf = (account: Uint8Array, nonce: bigint) => `${bytesToHex(account)} ${nonce}`;

export function createNonceProofs(options: NonceProofOptions) {
  const { chain, reorgDepth, now = () => performance.now(), searchAfterMs = SEARCH_AFTER_MS } = options;
  const searches = new Map<string, Search>();
  const finalWalk = createFinalWalk(chain);
  const used = createUsedNonces(now);
  const walk = async (walking: readonly Walking[], final: bigint) => {
    const read = await finalWalk.read(
      walking.map(({ place }) => place),
      final,
    );
    if (read === undefined) return "rest";
    if (read.map((at) => takeUses(searches, at)).includes(true)) return "found";
    const hasMore = ({ place, statesAt }: Walking) => place.next <= final || now() >= statesAt;
    return walking.some(hasMore) ? "more" : "rest";
  };
  return {
    /**
     * Asks no node.
     * @returns the use, or undefined while no final block has shown it. Then `search` looks for it, for a minute.
     */
    async find(wanted: SearchedNonce): Promise<NonceUse | undefined> {
      const search = searches.get(nameOf(wanted.account, wanted.nonce)) ?? begin(wanted, searches, now());
      search.askedAt = now();
      search.isUrgent ||= wanted.isUrgent === true;
      if (search.use) used.add(wanted);
      return search.use;
    },
    /**
     * Reads some more blocks, or looks for one nonce by the states of blocks.
     * @returns `found` if a use was found, `more` if there is more to read by now.
     */
    async search() {
      for (const [name, { askedAt }] of searches) if (now() - askedAt > REMEMBER_MS) searches.delete(name);
      if (searches.size === 0) return "rest";
      const final = (await chain.blockNumber()) - BigInt(reorgDepth);
      if (final < 0n) return "rest";
      const open = [...searches.values()]
        .filter(({ begunAt, isUrgent }) => isUrgent || now() - begunAt >= searchAfterMs)
        .flatMap((search) => placed(search, final, reorgDepth, now()));
      const isFar = ({ place: { next } }: Walking) => next > final || final - next > FAR_BLOCKS;
      const byStates = open.find((search) => isFar(search) && now() >= search.statesAt);
      if (byStates && (await searchStates(byStates, final, searches, { chain, now }))) return "found";
      const walking = open.filter(({ use, place }) => use === undefined && place.next <= final);
      if (walking.length > 0) return await walk(walking, final);
      return byStates ? "more" : "rest";
    },
    /** Whether a nonce is looked for. */
    get isSearching() {
      return [...searches.values()].some(({ use }) => use === undefined);
    },
    /** The nonces that have been looked for in vain for some seconds. */
    unproven: (): readonly SearchedNonce[] =>
      [...searches.values()].filter(({ use, begunAt }) => !use && now() - begunAt > UNPROVEN_MS),
    /**
     * Returns the lowest nonce of an account above all whose use was found in the last minute; 0 without one. A node that is
     * behind the one that showed the use may answer with a lower next nonce.
     */
    usedBelow: used.below,
  };
}

function begin(wanted: SearchedNonce, searches: Map<string, Search>, now: number): Search {
  const times = { begunAt: now, askedAt: now, statesAt: now, walkAt: now, pauseMs: MIN_PAUSE_MS };
  const search = { ...wanted, ...times, isUrgent: false, place: undefined, use: undefined };
  searches.set(nameOf(wanted.account, wanted.nonce), search);
  forgetOldest(searches, MAX_SEARCHES);
  return search;
}

/** Takes what the block shows. @returns whether it shows the use of a nonce that is looked for. */
function takeUses(searches: ReadonlyMap<string, Search>, at: BlockAt): boolean {
  const found = at.block.transactions.flatMap((transaction) => {
    const search = searches.get(nameOf(transaction.from, transaction.nonce));
    return search && search.use === undefined ? [{ search, transaction }] : [];
  });
  for (const { search, transaction } of found) search.use = useBy(transaction, at, search);
  return found.length > 0;
}

/** Looks for one nonce by the states of blocks. @returns whether a use was found. */
async function searchStates(
  search: Search,
  final: bigint,
  searches: ReadonlyMap<string, Search>,
  { chain, now }: Required<Pick<NonceProofOptions, "chain" | "now">>,
): Promise<boolean> {
  search.statesAt = now() + search.pauseMs;
  search.pauseMs = Math.min(MAX_PAUSE_MS, 2 * search.pauseMs);
  const height = await findRise(chain, search, final);
  const [block] = height === undefined ? [] : await chain.blocks([height]);
  if (height === undefined || block === undefined) return false;
  const at = { height, block };
  const isFound = takeUses(searches, at);
  search.use ??= authorizedUseIn(at, search);
  return isFound || search.use !== undefined;
}

/** The search with its place, unless its use was found. A walk that passed over missing blocks begins anew after a while. */
function placed(search: Search, final: bigint, reorgDepth: number, now: number): Walking[] {
  if (search.use !== undefined) return [];
  const { sinceBlock = final, place, walkAt } = search;
  const isOver = place?.hasGap === true && place.next > final && now >= walkAt;
  if (place === undefined || isOver) {
    // Other blocks may have taken the place of those that were the newest when the wrapper was signed.
    const back = search.sinceBlock === undefined ? MAX_WALKED_BLOCKS : BigInt(reorgDepth);
    const next = sinceBlock < back ? 0n : sinceBlock - back;
    search.place = { next, hasGap: false };
    search.walkAt = now + MAX_PAUSE_MS + AGAIN_MS_PER_BLOCK * Number(final - next);
  }
  return [search as Walking];
}

/** The nonces of accounts below which all were found as used in the last minute. Each step of a lane asks, whatever is searched. */
function createUsedNonces(now: () => number) {
  const used = new Map<string, { readonly next: bigint; readonly at: number }>();
  const below = (account: Uint8Array) => {
    const found = used.get(bytesToHex(account));
    return found && now() - found.at < REMEMBER_MS ? found.next : 0n;
  };
  return {
    below,
    add({ account, nonce }: AccountNonce): void {
      const before = below(account);
      const name = bytesToHex(account);
      used.delete(name);
      used.set(name, { next: nonce < before ? before : nonce + 1n, at: now() });
      forgetOldest(used);
    },
  };
}
