import { Ledger, type Terms } from "../../util/ledger.js";
import { type HttpAnswer, NoAnswerError, type Poster } from "./httpPoster.js";

/** The order in which requests to a node that takes only so many get their turn. */
export const PRIORITIES = ["send", "read", "gateway"] as const;
export type Priority = (typeof PRIORITIES)[number];

/** A node may ask for silence of this length at most; then it is asked again. */
const MAX_HOLD_MS = 30_000;

/**
 * Keeps the requests to one node within a rate, and keeps away from it for as long as it asks for by `Retry-After`. What waits
 * goes in the order of {@link PRIORITIES}. Half a second's requests may go at once, so that any ten seconds have at most
 * 10.5 times the rate.
 */
export class RequestPace {
  /** Undefined for no limit. */
  readonly #terms: Terms | undefined;
  readonly #sent = new Ledger(() => performance.now());
  readonly #waiting: Readonly<Record<Priority, Set<(hasTurn: boolean) => void>>> = {
    send: new Set(),
    read: new Set(),
    gateway: new Set(),
  };
  /** The end of the time for which the node has asked for no requests, in ms of the monotonic clock. */
  heldUntil = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param perSecond the most requests a second; 0 for no limit. */
  constructor(perSecond: number) {
    if (perSecond > 0) this.#terms = { ratePerSecond: perSecond, rateBurst: Math.max(1, perSecond / 2) };
  }

  /**
   * Waits for the turn of a request.
   * @returns false if it has none within `maxWaitMs`: at once where the node asks for a longer silence.
   */
  async turn(priority: Priority, maxWaitMs: number): Promise<boolean> {
    if (this.takeNow()) return true;
    if (this.heldUntil - performance.now() > maxWaitMs) return false;
    return new Promise((resolve) => {
      const queue = this.#waiting[priority];
      const giveUp = setTimeout(() => end(false), maxWaitMs);
      const end = (hasTurn: boolean) => {
        clearTimeout(giveUp);
        queue.delete(end);
        resolve(hasTurn);
      };
      queue.add(end);
      this.#timer ??= setTimeout(() => this.#serve(), 0);
    });
  }

  /** @returns whether one more request may go at once, which then counts. */
  takeNow(): boolean {
    return PRIORITIES.every((one) => this.#waiting[one].size === 0) && this.#take() === 0;
  }

  /** The node asks for no requests for this time, in ms. */
  holdFor(ms: number): void {
    this.heldUntil = Math.max(this.heldUntil, performance.now() + Math.min(ms, MAX_HOLD_MS));
  }

  /** @returns 0 if a request may go now, which then counts, else the time in ms until one may. */
  #take(): number {
    const heldMs = this.heldUntil - performance.now();
    if (heldMs > 0) return heldMs;
    return this.#terms === undefined ? 0 : this.#sent.take("node", 1, this.#terms);
  }

  #serve(): void {
    this.#timer = undefined;
    for (const priority of PRIORITIES) {
      for (const end of this.#waiting[priority]) {
        const waitMs = this.#take();
        if (waitMs > 0) {
          this.#timer = setTimeout(() => this.#serve(), Math.ceil(waitMs));
          return;
        }
        end(true);
      }
    }
  }
}

export type RequestPaces = ReturnType<typeof createRequestPaces>;

/**
 * The paces of a service's nodes, one for each URL: all its clients of a node share it.
 * @param perSecond the most requests a second to each node; 0 for no limit.
 */
export function createRequestPaces(perSecond: number) {
  const paces = new Map<string, RequestPace>();
  return (url: string): RequestPace => {
    const pace = paces.get(url) ?? new RequestPace(perSecond);
    paces.set(url, pace);
    return pace;
  };
}

export interface PacedPosterOptions {
  readonly pace: RequestPace;
  readonly rpcTimeoutMs: number;
  /** The priority of requests that only read. */
  readonly readPriority: Priority;
}

/** Lets each request wait for its turn. One that has none in time was surely not sent. */
export function pacedPoster(poster: Poster, options: PacedPosterOptions): Poster {
  const { pace, rpcTimeoutMs, readPriority } = options;
  return {
    get heldUntil() {
      return pace.heldUntil;
    },
    async post(body, isSend, openMemory) {
      const priority = isSend && readPriority !== "gateway" ? "send" : readPriority;
      if (!(await pace.turn(priority, rpcTimeoutMs))) {
        const message = `the rate of requests to the node left no room within ${rpcTimeoutMs} ms`;
        throw new NoAnswerError(new Error(message), 0);
      }
      const answer = await poster.post(body, isSend, openMemory);
      pace.holdFor(retryAfterOf(answer));
      return answer;
    },
  };
}

/** The time that `Retry-After` asks for, in ms: seconds, or a date by the node's own clock. 0 without it. */
function retryAfterOf({ retryAfter = "", date = "" }: HttpAnswer): number {
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter) * 1_000;
  const ms = Date.parse(retryAfter) - Date.parse(date);
  return Number.isFinite(ms) && ms > 0 ? ms : 0;
}
