import { type HttpAnswer, NoAnswerError, type Poster } from "./httpPoster.js";

/** The order in which requests to a node that takes only so many get their turn. */
export const PRIORITIES = ["send", "read", "gateway"] as const;
export type Priority = (typeof PRIORITIES)[number];

interface Waiting {
  resolve(hasTurn: boolean): void;
}

const RATE_LIMITED = 429;
/** A node may ask for silence of this length at most; then it is asked again. */
const MAX_HOLD_MS = 60_000;

/**
 * Keeps the requests to one node within a rate, and keeps away from it for as long as it asks for by `Retry-After`. What waits
 * goes in the order of {@link PRIORITIES}. Half a second's requests may go at once, so that any ten seconds have at most
 * 10.5 times the rate.
 */
export class RequestPace {
  readonly #perMs: number;
  readonly #burst: number;
  readonly #waiting: Readonly<Record<Priority, Set<Waiting>>> = {
    send: new Set(),
    read: new Set(),
    gateway: new Set(),
  };
  #tokens: number;
  #countedAt = performance.now();
  #heldUntil = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param perSecond the most requests a second; 0 for no limit. */
  constructor(perSecond: number) {
    this.#perMs = (perSecond || Number.POSITIVE_INFINITY) / 1_000;
    this.#burst = Math.max(1, (perSecond || Number.POSITIVE_INFINITY) / 2);
    this.#tokens = this.#burst;
  }

  /**
   * Waits for the turn of a request.
   * @returns false if it has none within `maxWaitMs`.
   */
  async turn(priority: Priority, maxWaitMs: number): Promise<boolean> {
    if (this.#isIdle() && this.#take(performance.now())) return true;
    return new Promise((resolve) => {
      const queue = this.#waiting[priority];
      const giveUp = setTimeout(() => waiting.resolve(false), maxWaitMs);
      const waiting: Waiting = {
        resolve: (hasTurn) => {
          clearTimeout(giveUp);
          queue.delete(waiting);
          resolve(hasTurn);
        },
      };
      queue.add(waiting);
      this.#schedule();
    });
  }

  /** The end of the time for which the node has asked for no requests, in ms of the monotonic clock. */
  get heldUntil(): number {
    return this.#heldUntil;
  }

  /** The node asks for no requests for this time, in ms. */
  holdFor(ms: number): void {
    this.#heldUntil = Math.max(this.#heldUntil, performance.now() + Math.min(ms, MAX_HOLD_MS));
  }

  #isIdle(): boolean {
    return PRIORITIES.every((priority) => this.#waiting[priority].size === 0);
  }

  /** Takes a token if there is one, and the node takes requests. */
  #take(now: number): boolean {
    if (now < this.#heldUntil) return false;
    if (this.#perMs === Number.POSITIVE_INFINITY) return true;
    this.#tokens = Math.min(this.#burst, this.#tokens + (now - this.#countedAt) * this.#perMs);
    this.#countedAt = now;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  #schedule(): void {
    if (this.#timer !== undefined) return;
    const now = performance.now();
    const forToken = this.#perMs === Number.POSITIVE_INFINITY ? 0 : (1 - this.#tokens) / this.#perMs;
    const wait = Math.max(this.#heldUntil - now, forToken, 0);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#serve();
    }, Math.ceil(wait));
  }

  #serve(): void {
    for (const priority of PRIORITIES) {
      for (const waiting of this.#waiting[priority]) {
        if (!this.#take(performance.now())) {
          this.#schedule();
          return;
        }
        waiting.resolve(true);
      }
    }
  }
}

/** The paces of a service's nodes, one for each URL: all its clients of a node share it. */
export class RequestPaces {
  readonly #perSecond: number;
  readonly #paces = new Map<string, RequestPace>();

  /** @param perSecond the most requests a second to each node; 0 for no limit. */
  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  of(url: string): RequestPace {
    const pace = this.#paces.get(url) ?? new RequestPace(this.#perSecond);
    this.#paces.set(url, pace);
    return pace;
  }
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
    url: poster.url,
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
      if (answer.status === RATE_LIMITED) pace.holdFor(retryAfterOf(answer));
      return answer;
    },
  };
}

/** The time that `Retry-After` asks for, in ms: seconds, or a date by the node's own clock. */
function retryAfterOf({ retryAfter = "", date = "" }: HttpAnswer): number {
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter) * 1_000;
  const ms = Date.parse(retryAfter) - Date.parse(date);
  return Number.isFinite(ms) && ms > 0 ? ms : 0;
}
