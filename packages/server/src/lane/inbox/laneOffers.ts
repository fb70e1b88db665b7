import { bytesEqual, bytesToHex } from "@gas-waiver/protocol";
import { type Acceptance, keyIdOf, type NewSubmission } from "../../store/accept/newSubmission.js";
import { FairQueue } from "../../util/fairQueue.js";

/** A request that is offered to a lane. The first of its endings counts. */
export interface LaneOffer {
  readonly newSubmissions: readonly NewSubmission[];
  /** It is stored. */
  accept(): void;
  /** Nothing of it is stored. */
  decline(): void;
  /** It may be stored or not. */
  fail(error: unknown): void;
}

/** The most new submissions of one step: others wait for its write. */
const MAX_TAKEN = 150;
/**
 * The most steps that waiting offers may fill, in all or of one API key. Beyond, the queue is the faster way into the
 * store.
 */
const MAX_STEPS = 2;
/** A lane that took no step for longer reads its queue, or is another replica's by now. */
const READY_MS = 250;
/** A step that takes longer waits for a node or for the database. One of many submissions takes half of it on a slow machine. */
const MAX_STEP_MS = 100;
/** A collection of garbage is over soon; a node that is far away stays so. */
const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 5_000;

/**
 * Offers new submissions to a lane at rest, which accepts and signs them in one write. A lane that knows its queue as empty
 * takes the submissions that fit into its next step, and declines submissions that need a decision by the store or the
 * chain. An offer stores nothing: declined submissions are accepted into the queue.
 */
export class LaneOffers {
  readonly #wake: () => void;
  readonly #now: () => number;
  readonly #maxStepMs: number;
  readonly #queue = new FairQueue<LaneOffer>();
  /** The API keys of the senders, in hex, of what is in the queue. No two new submissions there have a sender in common. */
  readonly #keyOf = new Map<string, string>();
  readonly #hasInFlight: (sender: Uint8Array) => boolean;
  #readyAt = Number.NEGATIVE_INFINITY;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #pauses = 0;
  /** The most submissions that the last step took of one key. */
  #shareOfKey = MAX_TAKEN;
  /** Declines what waits, unless a step takes something before. */
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param wake ends the rest of the lane.
   * @param hasInFlight whether something of a sender is in flight, so that a step would decline its submissions.
   * @param now a monotonic clock in ms.
   * @param maxStepMs the longest step for which an offer waits.
   */
  constructor(
    wake: () => void,
    hasInFlight: (sender: Uint8Array) => boolean,
    now: () => number = () => performance.now(),
    maxStepMs: number = MAX_STEP_MS,
  ) {
    this.#wake = wake;
    this.#hasInFlight = hasInFlight;
    this.#now = now;
    this.#maxStepMs = maxStepMs;
  }

  /** No step can take anything. */
  get isEmpty(): boolean {
    return this.#queue.isEmpty;
  }

  /**
   * Offers the new submissions of one request.
   * @returns undefined if they were declined. Then nothing of them was stored.
   * @throws what the write of the lane has failed with.
   */
  async offer(newSubmissions: readonly NewSubmission[]): Promise<Acceptance[] | undefined> {
    if (this.#now() - this.#readyAt >= READY_MS || this.#now() < this.#pausedUntil) return undefined;
    const senders = newSubmissions.map(({ sender }) => bytesToHex(sender));
    if (!this.#mayTake(newSubmissions, senders)) return undefined;
    const keyId = keyIdOf({ newSubmissions });
    return new Promise((resolve, reject) => {
      for (const sender of senders) this.#keyOf.set(sender, keyId);
      this.#queue.add([keyId, senders[0] ?? ""], {
        newSubmissions,
        accept: () => {
          this.#pauses = 0;
          resolve(newSubmissions.map(({ waiver }) => ({ kind: "accepted", waiver, isSigned: true })));
        },
        decline: () => resolve(undefined),
        fail: reject,
      });
      this.#timer ??= this.#declineLater();
      this.#wake();
    });
  }

  /**
   * Takes requests, the API keys in turns. No two of them have a sender in common. The step ends each in one of three ways.
   * @param shareOfKey returns the most submissions of one API key, of a number in all. One request of each key may have more.
   */
  take(shareOfKey: (all: number) => number): readonly LaneOffer[] {
    if (this.isEmpty) return [];
    this.#shareOfKey = shareOfKey(MAX_TAKEN);
    const taken = this.#take(MAX_TAKEN, this.#shareOfKey);
    clearTimeout(this.#timer);
    this.#timer = this.isEmpty ? undefined : this.#declineLater();
    return taken;
  }

  /** Says whether the next step of the lane can take offers, if it comes soon. If not, all that wait are declined. */
  setReady(isReady: boolean): void {
    if (isReady) this.#readyAt = this.#now();
    else this.#declineAll();
  }

  /** Declines the waiting offers, and new offers for a while. The while doubles until an offer is accepted. */
  pause(): void {
    this.#pausedUntil = this.#now() + Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * 2 ** this.#pauses++);
    this.#declineAll();
  }

  /** Declines all that waits if the step under way takes too long. */
  #declineLater(): NodeJS.Timeout {
    return setTimeout(() => this.#declineAll(), this.#maxStepMs);
  }

  /** Declines all that waits, and what comes before the next step ends. */
  #declineAll(): void {
    this.#readyAt = Number.NEGATIVE_INFINITY;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const offer of this.#take(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)) offer.decline();
  }

  /**
   * Whether a step can take a whole request soon: a small request with one waiver, behind few offers, from senders with
   * nothing else on the way.
   */
  #mayTake(newSubmissions: readonly NewSubmission[], senders: readonly string[]): boolean {
    const [first] = newSubmissions;
    const { length } = newSubmissions;
    if (first === undefined || length > MAX_TAKEN) return false;
    if (this.#keyOf.size + length > MAX_STEPS * MAX_TAKEN) return false;
    const ofKey = [...this.#keyOf.values()].filter((keyId) => keyId === first.keyId).length;
    if (ofKey > 0 && ofKey + length > MAX_STEPS * this.#shareOfKey) return false;
    return (
      new Set(senders).size === length &&
      !senders.some((sender) => this.#keyOf.has(sender)) &&
      newSubmissions.every((one) => bytesEqual(one.waiver, first.waiver) && !this.#hasInFlight(one.sender))
    );
  }

  /**
   * Takes requests out, until they have enough.
   * @param most the most new submissions.
   * @param ofKey the most of one API key, but for its first request.
   */
  #take(most: number, ofKey: number): LaneOffer[] {
    const taken: LaneOffer[] = [];
    const sizes = new Map<string, number>();
    let size = 0;
    const sizeOf = (key: string) => sizes.get(key) ?? 0;
    const fits = (offer: LaneOffer) => {
      const { length } = offer.newSubmissions;
      const ofItsKey = sizeOf(keyIdOf(offer));
      return size + length <= most && (ofItsKey === 0 || ofItsKey + length <= ofKey);
    };
    for (let next = this.#queue.take(fits); next !== undefined; next = this.#queue.take(fits)) {
      taken.push(next);
      size += next.newSubmissions.length;
      const key = keyIdOf(next);
      sizes.set(key, sizeOf(key) + next.newSubmissions.length);
      for (const { sender } of next.newSubmissions) this.#keyOf.delete(bytesToHex(sender));
    }
    return taken;
  }
}
