import { bytesEqual } from "@gas-waiver/protocol";
import type { ChainHead } from "../client/nodeAnswers.js";

/** A node that still lacks a block when another one showed it so many seconds ago is not asked. */
export const MAX_LAG_SECONDS = 10;
/** A node whose head is more blocks below another one's is not asked either. */
export const MAX_LAG_BLOCKS = 64n;
/** A node may be behind for this long, because it was polled just before it got blocks that another already has. */
const GRACE_MS = 2_000;
/** A poll of a node that takes this long is slow, in ms, and so many in a row show a slow node. */
const SLOW_POLL_MS = 1_000;
const SLOW_POLLS = 2;
/** The head that a node has shown counts for this long: a node that is gone, or was wrong for a moment, decides nothing any more. */
const COUNTS_MS = 30_000;

/** The end of the chain by one node. The block's own time decides nothing: only metrics show it. */
type ObservedHead = Pick<ChainHead, "number" | "timestamp"> & Partial<Pick<ChainHead, "hash">>;

/**
 * The state of a node, as the last poll found it:
 *
 * - `unknown`: it was not polled yet, gave no answer, or answers again and has not yet shown whether it is behind.
 * - `well`: the node has the blocks of the others, or was behind for less than {@link GRACE_MS}, or there is no other node.
 * - `behind`: it lacks too many blocks of another node, or lacks one for too long, so its nonces, receipts and refusals are
 *   those of the past.
 * - `other chain`: it is on another chain than the service.
 */
export type EndpointState = "unknown" | "well" | "behind" | "other chain";

interface Observation {
  readonly head: ObservedHead;
  /** In ms of the monotonic clock. */
  readonly at: number;
}

/** One node, as its polls have shown it. Times are in ms of the monotonic clock. */
interface WatchedNode {
  last: Observation | undefined;
  /** The heights that it has shown, from low to high, each with the time of the first poll that showed it. */
  shown: readonly { readonly height: bigint; readonly at: number }[];
  answers: boolean;
  /** Why the last poll got no answer, in the node's own words if it has any. */
  said: string | undefined;
  isOtherChain: boolean;
  /** The last polls in a row that were slow. */
  slowPolls: number;
  /** It was not too far behind in at least one poll since it answers again. */
  wasWell: boolean;
  /** The time at which another node first showed a block that this one lacks. */
  passedAt: number | undefined;
  lagSeconds: number;
  /** The time since which it is too far behind. */
  behindSince: number | undefined;
}

const NEVER_POLLED: WatchedNode = {
  last: undefined,
  shown: [],
  answers: false,
  said: undefined,
  isOtherChain: false,
  slowPolls: 0,
  wasWell: false,
  passedAt: undefined,
  lagSeconds: 0,
  behindSince: undefined,
};

/**
 * The heads of all nodes, by which the service decides whom to ask (D28, D36). A node's lag is measured by the heights that the
 * other nodes have shown, and by this process's monotonic clock. The times in blocks decide nothing. A node that has gone away
 * keeps one that is hours behind from taking its place for {@link COUNTS_MS}. Afterwards that one is asked, and the lanes whose
 * final blocks it lacks wait (`lane/watch/lost.ts`).
 *
 * Heights compare only along one chain. Where the higher of two nodes has another block at the height of the lower one's head, the
 * two are *apart*: then one is behind if it stands still while the other goes on, and not for its height. One that is apart from most of
 * them is behind, too.
 */
export class EndpointHeads {
  readonly #nodes: readonly WatchedNode[];
  /** A test's clock may run faster. */
  readonly #speed: number;
  /** The pairs of nodes that are apart, by their places. */
  readonly #apart = new Set<string>();
  #onNewHead: () => void = () => {};

  constructor(count: number, { speed = 1 } = {}) {
    this.#speed = speed;
    this.#nodes = Array.from({ length: count }, () => ({ ...NEVER_POLLED }));
  }

  /** Notes the head of a node. `now` in ms of the monotonic clock. @param tookMs the time of the poll. */
  observe(place: number, head: ObservedHead, now: number, tookMs = 0): void {
    const node = this.#at(place);
    node.slowPolls = tookMs < SLOW_POLL_MS ? 0 : node.slowPolls + 1;
    const isNew = node.last?.head.number !== head.number;
    // A node that has gone back does not show the later heights any more.
    const shown = node.shown.filter(({ height }) => height <= head.number);
    if (shown.at(-1)?.height !== head.number) shown.push({ height: head.number, at: now });
    Object.assign(node, { last: { head, at: now }, answers: true, isOtherChain: false });
    node.shown = shown.slice(-Number(MAX_LAG_BLOCKS));
    for (const one of this.#nodes) this.#updateLag(one, now);
    if (node.behindSince === undefined) node.wasWell = true;
    if (isNew) this.#onNewHead();
  }

  /** Calls the listener, instead of an earlier one, when a node shows another height than before. */
  onNewHead(listener: () => void): void {
    this.#onNewHead = listener;
  }

  /** The height of the first node that may be asked, if it was read no earlier than `since` (ms of the monotonic clock). */
  freshHeight(since: number): bigint | undefined {
    const { answers, last } = this.#nodes.find((_, place) => this.isUsable(place)) ?? {};
    return answers && last !== undefined && last.at >= since ? last.head.number : undefined;
  }

  /** Notes that a node gave no answer. @param said the reason, which names no address. */
  miss(place: number, said?: string): void {
    Object.assign(this.#at(place), { answers: false, said, wasWell: false });
  }

  /** Returns why the last poll of a node got no answer; undefined if it got one. */
  whyAway(place: number): string | undefined {
    const { answers, said } = this.#at(place);
    return answers ? undefined : said;
  }

  /** Notes that a node is on another chain. */
  refuse(place: number): void {
    Object.assign(this.#at(place), { answers: true, isOtherChain: true, wasWell: false });
  }

  /** Returns the heads that a node must have among its blocks for its height to count against others. */
  doubted(place: number): readonly { readonly place: number; readonly number: bigint }[] {
    const height = this.#at(place).last?.head.number ?? 0n;
    return this.#nodes.flatMap(({ last, behindSince }, other) => {
      const isDoubted = behindSince !== undefined || this.#apart.has(pairOf(place, other));
      return last && isDoubted && last.head.number < height
        ? [{ place: other, number: last.head.number }]
        : [];
    });
  }

  /**
   * Compares the block of a node with the head of another one at its height.
   * @param hash of the block, by the first node.
   * @returns whether this shows the nodes as apart for the first time.
   */
  compare(place: number, other: number, number: bigint, hash: Uint8Array): boolean {
    const head = this.#at(other).last?.head;
    // It has another head by now.
    if (head?.hash === undefined || head.number !== number) return false;
    const pair = pairOf(place, other);
    const isNew = !bytesEqual(head.hash, hash) && !this.#apart.has(pair);
    if (isNew) this.#apart.add(pair);
    else if (bytesEqual(head.hash, hash)) this.#apart.delete(pair);
    return isNew;
  }

  stateOf(place: number): EndpointState {
    const { answers, isOtherChain, last, behindSince, wasWell } = this.#at(place);
    if (!answers) return "unknown";
    if (isOtherChain) return "other chain";
    if (last === undefined) return "unknown";
    if (behindSince === undefined || this.#nodes.length === 1) return "well";
    if (last.at - behindSince >= GRACE_MS / this.#speed) return "behind";
    return wasWell ? "well" : "unknown";
  }

  /**
   * Tells for how many seconds a node has lacked a block that another one has; undefined for one that gives no answer or is on
   * another chain, of which its lag would tell something else.
   */
  lagOf(place: number): number | undefined {
    const { last, answers, isOtherChain, lagSeconds } = this.#at(place);
    return last && answers && !isOtherChain ? lagSeconds : undefined;
  }

  headOf(place: number): ObservedHead | undefined {
    return this.#at(place).last?.head;
  }

  /**
   * Tells which nodes may be asked: those that are well. If none is, those whose state is unknown, because they may have
   * come back. One that is behind is never asked.
   */
  isUsable(place: number): boolean {
    const state = this.stateOf(place);
    if (state === "well") return true;
    return state === "unknown" && this.#nodes.every((_, other) => this.stateOf(other) !== "well");
  }

  /** Whether a node is slow, so that one that is not is asked before it. */
  isSlow(place: number): boolean {
    return this.#at(place).slowPolls >= SLOW_POLLS;
  }

  /** Whether a node that may be asked answered its last poll, no earlier than `since` (ms of the monotonic clock). */
  hasFresh(since: number): boolean {
    return this.#nodes.some(
      ({ answers, last }, place) => answers && last !== undefined && last.at >= since && this.isUsable(place),
    );
  }

  #at(place: number): WatchedNode {
    const node = this.#nodes[place];
    if (node === undefined) throw new Error(`there is no node ${place}`);
    return node;
  }

  #areApart(node: WatchedNode, other: WatchedNode): boolean {
    return this.#apart.has(pairOf(this.#nodes.indexOf(node), this.#nodes.indexOf(other)));
  }

  /** Compares a node with what the others have shown of late. */
  #updateLag(node: WatchedNode, now: number): void {
    const { last, passedAt } = node;
    if (last === undefined) return;
    const others = this.#nodes.filter(
      (one) => one !== node && one.last && now - one.last.at <= COUNTS_MS / this.#speed,
    );
    const along = others.filter((one) => !this.#areApart(node, one));
    const apart = others.filter((one) => this.#areApart(node, one));
    const movedAt = node.shown.at(-1)?.at ?? now;
    const missing = [
      ...along.flatMap(({ shown }) => shown.find(({ height }) => height > last.head.number) ?? []),
      ...apart.flatMap(({ shown }) => shown.find(({ at }) => at > movedAt) ?? []),
    ];
    // The others' earlier heights may be forgotten by now.
    const isKept =
      passedAt !== undefined &&
      along.length > 0 &&
      along.every(({ shown }) => lowestOf(shown) > last.head.number);
    if (missing.length === 0) node.passedAt = undefined;
    else if (!isKept) node.passedAt = Math.min(...missing.map(({ at }) => at));
    node.lagSeconds = node.passedAt === undefined ? 0 : Math.round((now - node.passedAt) / 1_000);
    const isFarBelow = along.some((one) => (one.last?.head.number ?? 0n) - last.head.number > MAX_LAG_BLOCKS);
    const isLate = now - (node.passedAt ?? now) > (MAX_LAG_SECONDS * 1_000) / this.#speed;
    const goingOn = apart.filter(({ behindSince }) => behindSince === undefined);
    const isOutvoted = goingOn.length > along.length + 1;
    node.behindSince = isFarBelow || isLate || isOutvoted ? (node.behindSince ?? now) : undefined;
  }
}

/** Either of the two may be the higher one by now. */
const pairOf = (a: number, b: number) => (a < b ? `${a} ${b}` : `${b} ${a}`);

function lowestOf(shown: WatchedNode["shown"]): bigint {
  return shown[0]?.height ?? 0n;
}
