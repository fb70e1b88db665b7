import { Ledger, type Terms } from "../../util/ledger.js";
import { type HttpAnswer, NoAnswerError, type Poster } from "./httpPoster.js";

/** The order in which requests to a node that takes only so many get their turn. */
export const PRIORITIES = ["send", "read", "check", "gateway"] as const;
export type Priority = (typeof PRIORITIES)[number];

/** A node may ask for silence of this length at most; then it is asked again. */
const MAX_HOLD_MS = 30_000;

/**
 * Keeps the requests to one node within a rate, and keeps away from it for as long as it asks for by `Retry-After`: from the kind
 * of call, a priority and a method, that it answered so. The limit may be that method's alone, and any client of the gateway can reach it.
 * What waits goes in the order of {@link PRIORITIES}. Half a second's requests may go at once, so that any ten seconds have at most 10.5 times the rate.
 */
export class RequestPace {
  /** Undefined for no limit. */
  readonly #terms: Terms | undefined;
  readonly #sent = new Ledger(() => performance.now());
  readonly #waiting: Readonly<Record<Priority, Set<(hasTurn: boolean) => void>>> = {
    send: new Set(),
    read: new Set(),
    check: new Set(),
    gateway: new Set(),
  };
  /** The ends of the times for which the node has asked for no requests, for each kind, in ms of the monotonic clock. */
  readonly #held = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  /** @param perSecond the most requests a second; 0 for no limit. */
  constructor(perSecond: number) {
    if (perSecond > 0) this.#terms = { ratePerSecond: perSecond, rateBurst: Math.max(1, perSecond / 2) };
  }

  /**
   * Waits for the turn of a request.
   * @param kinds of its calls.
   * @returns false if it has none within `maxWaitMs`: at once where the node asks for a longer silence.
   */
  async turn(priority: Priority, maxWaitMs: number, kinds: readonly string[] = []): Promise<boolean> {
    const until = performance.now() + maxWaitMs;
    const heldMs = () => this.heldUntil(kinds) - performance.now();
    do {
      while (heldMs() > 0) {
        if (this.heldUntil(kinds) > until) return false;
        await new Promise((resolve) => setTimeout(resolve, Math.ceil(heldMs())));
      }
      if (!(await this.#rateTurn(priority, until - performance.now()))) return false;
    } while (heldMs() > 0);
    return true;
  }

  async #rateTurn(priority: Priority, maxWaitMs: number): Promise<boolean> {
    if (this.takeNow()) return true;
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

  /** The node asks for no requests of these kinds for this time, in ms. */
  holdFor(ms: number, kinds: readonly string[]): void {
    const until = performance.now() + Math.min(ms, MAX_HOLD_MS);
    if (ms > 0) for (const kind of kinds) this.#held.set(kind, Math.max(until, this.heldUntil([kind])));
  }

  /** The end of the longest silence of these kinds. */
  heldUntil(kinds: readonly string[]): number {
    return Math.max(0, ...kinds.map((kind) => this.#held.get(kind) ?? 0));
  }

  /** @returns 0 if a request may go now, which then counts, else the time in ms until one may. */
  #take(): number {
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
  const priorityOf = (isSend = false) => (isSend && readPriority !== "gateway" ? "send" : readPriority);
  const kindsOf = (methods: readonly string[], isSend?: boolean) =>
    methods.map((method) => `${priorityOf(isSend)} ${method}`);
  return {
    // A priority alone is a kind that holds up nothing.
    heldUntil: (methods, isSend) =>
      pace.heldUntil(methods ? kindsOf(methods, isSend) : [readPriority, priorityOf(true)]),
    async post(body, isSend, openMemory, methods = []) {
      const kinds = kindsOf(methods, isSend);
      if (!(await pace.turn(priorityOf(isSend), rpcTimeoutMs, kinds))) {
        const heldMs = pace.heldUntil(kinds) - performance.now();
        const message =
          heldMs > 0
            ? `it asked for no such requests for ${Math.ceil(heldMs / 1_000)} s more, by Retry-After`
            : `the rate of requests to the node left no room within ${rpcTimeoutMs} ms`;
        throw new NoAnswerError(new Error(message), 0);
      }
      const answer = await poster.post(body, isSend, openMemory);
      pace.holdFor(retryAfterOf(answer), [...kinds, priorityOf(isSend)]);
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
