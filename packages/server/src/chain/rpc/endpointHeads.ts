/** A node whose head is more seconds behind the newest head, by the blocks' timestamps, is not asked. */
export const MAX_LAG_SECONDS = 10;
/** A node may be behind for this long, because it was polled just before it got a block that another already has. */
const GRACE_MS = 2_000;
/**
 * If all nodes that answer are behind the newest head for this long, and one of them had newer blocks itself, the chain
 * went back, as after a restore.
 */
const WENT_BACK_MS = 60_000;

/** The end of the chain by one node. */
export interface ChainHead {
  readonly number: bigint;
  /** In seconds. */
  readonly timestamp: number;
}

/**
 * The state of a node, as the last poll found it:
 *
 * - `unknown`: it was not polled yet, gave no answer, or answers again and has not yet shown whether it is behind.
 * - `well`: it is at most {@link MAX_LAG_SECONDS} behind the newest head, or was less than {@link GRACE_MS} ago, or it
 *   is the only node.
 * - `behind`: it has been further behind for {@link GRACE_MS}, so its nonces, receipts and refusals are those of the past.
 * - `other chain`: it is on another chain than the service.
 */
export type EndpointState = "unknown" | "well" | "behind" | "other chain";

interface Observation {
  readonly head: ChainHead;
  /** In ms of the monotonic clock. */
  readonly at: number;
}

/** One node, as its polls have shown it. */
interface WatchedNode {
  last: Observation | undefined;
  /** The newest head that it has shown, unless the chain went back since. */
  best: ChainHead | undefined;
  answers: boolean;
  isOtherChain: boolean;
  /** It was not too far behind in at least one poll since it answers again. */
  wasWell: boolean;
  /** The time since which it is too far behind, in ms. */
  behindSince: number | undefined;
}

/**
 * The heads of all nodes, by which the service decides whom to ask (D28). All ages are differences of the blocks' own
 * times, so this machine's clock does not matter. The newest head that any node has shown is remembered: when that node
 * goes away, one that is hours behind does not take its place.
 */
export class EndpointHeads {
  readonly #nodes: readonly WatchedNode[];
  readonly #graceMs: number;
  #newest: ChainHead | undefined;
  #onNewHead: () => void = () => {};
  /** The time since which the answers show that the chain went back, in ms. */
  #wentBackSince: number | undefined;

  constructor(count: number, { graceMs = GRACE_MS } = {}) {
    this.#graceMs = graceMs;
    this.#nodes = Array.from({ length: count }, () => ({
      last: undefined,
      best: undefined,
      answers: false,
      isOtherChain: false,
      wasWell: false,
      behindSince: undefined,
    }));
  }

  /** Notes the head of a node. `now` in ms of the monotonic clock. */
  observe(place: number, head: ChainHead, now: number): void {
    const node = this.#at(place);
    const isNew = node.last?.head.number !== head.number;
    node.last = { head, at: now };
    node.answers = true;
    node.isOtherChain = false;
    node.best = newerOf(node.best, head);
    this.#newest = newerOf(this.#newest, head);
    this.#updateBehindSince(now);
    if (node.behindSince === undefined) node.wasWell = true;
    this.#followBack(now);
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

  /** Notes that a node gave no answer. */
  miss(place: number): void {
    Object.assign(this.#at(place), { answers: false, wasWell: false });
    if (!this.#nodes.some(({ answers }) => answers)) this.#wentBackSince = undefined;
  }

  /** Notes that a node is on another chain. */
  refuse(place: number): void {
    Object.assign(this.#at(place), { answers: true, isOtherChain: true, wasWell: false });
  }

  stateOf(place: number): EndpointState {
    const { answers, isOtherChain, last, behindSince, wasWell } = this.#at(place);
    if (!answers) return "unknown";
    if (isOtherChain) return "other chain";
    if (last === undefined) return "unknown";
    if (behindSince === undefined || this.#nodes.length === 1) return "well";
    if (last.at - behindSince >= this.#graceMs) return "behind";
    return wasWell ? "well" : "unknown";
  }

  /** Tells how far a node's head is behind the newest, in seconds; undefined before its first answer. */
  lagOf(place: number): number | undefined {
    const { last } = this.#at(place);
    return last && this.#newest && this.#newest.timestamp - last.head.timestamp;
  }

  headOf(place: number): ChainHead | undefined {
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

  #updateBehindSince(now: number): void {
    this.#nodes.forEach((node, place) => {
      const isLate = (this.lagOf(place) ?? 0) > MAX_LAG_SECONDS;
      node.behindSince = isLate ? (node.behindSince ?? now) : undefined;
    });
  }

  /**
   * Forgets the blocks that the chain has lost. A node that is absent does not prevent that. But one that only lags is no
   * evidence, also where it is the only one that answers: it never had newer blocks.
   */
  #followBack(now: number): void {
    const answering = this.#nodes.filter(({ answers, isOtherChain }) => answers && !isOtherChain);
    const areBehind = answering.every((node) => this.stateOf(this.#nodes.indexOf(node)) === "behind");
    const wentBack = areBehind && answering.some(hasGoneBack);
    this.#wentBackSince = wentBack ? (this.#wentBackSince ?? now) : undefined;
    if (this.#wentBackSince === undefined || now - this.#wentBackSince < WENT_BACK_MS) return;
    for (const node of this.#nodes) node.best = answering.includes(node) ? node.last?.head : undefined;
    this.#newest = answering.map(({ best }) => best).reduce(newerOf, undefined);
    this.#wentBackSince = undefined;
    this.#updateBehindSince(now);
  }
}

function hasGoneBack({ best, last }: WatchedNode): boolean {
  return best !== undefined && last !== undefined && best.timestamp - last.head.timestamp > MAX_LAG_SECONDS;
}

function newerOf(a: ChainHead | undefined, b: ChainHead | undefined): ChainHead | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return b.timestamp > a.timestamp ? b : a;
}
