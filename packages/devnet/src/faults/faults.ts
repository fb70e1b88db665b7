import { bytesToHex, crypto, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { decodeForEvm } from "../block/transaction.js";
import type { Chain } from "../chain/chain.js";
import type { PoolKind } from "../pool/nonceRules.js";
import { RefusedError } from "../pool/refusedError.js";
import { RPC_CODES, RpcError } from "../rpc/errors.js";
import type { Method, Methods } from "../rpc/method.js";
import {
  CALL_FAULTS,
  type CallFault,
  DEFAULT_DELAY_MS,
  DEFAULT_RATE_WINDOW_MS,
  DEFAULT_SEED,
  EXCHANGE_FAULTS,
  type ExchangeFault,
  type FaultSettings,
  isControl,
  SEND_ANSWERS,
  SEND_METHOD,
  type SendAnswer,
} from "./faultSettings.js";
import { createRequestLimit } from "./requestLimit.js";
import { SeededRandom } from "./seededRandom.js";

/** The streams of random numbers, one for each purpose. Their order is part of what a seed gives. */
const STREAMS = ["exchange", "delay", "call", "part", "evict", "cut"] as const;

/** The counts of requests and faults since the faults were set. */
export interface FaultCounts {
  /** The exchanges that a fault could have struck, and the calls that one could have struck. */
  readonly exchanges: number;
  readonly calls: number;
  /** The number of times that each fault struck. */
  readonly struck: Readonly<Record<string, number>>;
}

/**
 * Decides which fault strikes which request. All draws come from the seed in the order of the requests, so the same
 * requests in the same order meet the same faults.
 */
export class Faults {
  readonly #chain: Chain;
  #settings: FaultSettings = {};
  #active = false;
  #methods: ReadonlySet<string> = new Set([SEND_METHOD]);
  #random = randoms(DEFAULT_SEED);
  #forcedErrorsLeft = new Map<SendAnswer, number>();
  #requestLimit: ReturnType<typeof createRequestLimit> | undefined;
  #struck: Record<string, number> = {};
  #exchanges = 0;
  #calls = 0;

  constructor(chain: Chain) {
    this.#chain = chain;
  }

  /** Whether faults of requests are set. While false, requests bypass this class. */
  get active(): boolean {
    return this.#active;
  }

  /** The settings, with the remaining counts of forced errors. */
  get settings(): FaultSettings {
    return { ...this.#settings, ...Object.fromEntries(this.#forcedErrorsLeft) };
  }

  get counts(): FaultCounts {
    return { exchanges: this.#exchanges, calls: this.#calls, struck: { ...this.#struck } };
  }

  /** Replaces all settings, restarts the random numbers from the seed, and the counts from 0. */
  set(settings: FaultSettings): void {
    this.#settings = settings;
    this.#methods = new Set(settings.methods ?? [SEND_METHOD]);
    this.#random = randoms(settings.seed ?? DEFAULT_SEED);
    this.#forcedErrorsLeft = new Map(
      SEND_ANSWERS.flatMap((name) => (settings[name] ? [[name, settings[name]]] : [])),
    );
    const { rateLimit = 0, rateWindowMs = DEFAULT_RATE_WINDOW_MS } = settings;
    this.#requestLimit = rateLimit > 0 ? createRequestLimit(rateLimit, rateWindowMs) : undefined;
    this.#struck = {};
    this.#exchanges = 0;
    this.#calls = 0;
    const shares = [...EXCHANGE_FAULTS, ...CALL_FAULTS, "delay"] as const;
    const isCounted = this.#forcedErrorsLeft.size > 0 || rateLimit > 0;
    this.#active = isCounted || shares.some((name) => (settings[name] ?? 0) > 0);
  }

  /** Counts an HTTP request of an address. @returns the seconds of `Retry-After` if it is above the limit. */
  overLimit(address: string, methods: readonly string[]): number | undefined {
    if (methods.some(isControl)) return undefined;
    const seconds = this.#requestLimit?.(address, performance.now());
    if (seconds !== undefined) this.#strike("rateLimit");
    return seconds;
  }

  /** Draws the delay in ms, and the fault if one strikes, for an exchange with calls of these methods. */
  drawExchange(methods: readonly string[]): { delayMs: number; fault: ExchangeFault | undefined } {
    const isExempt = methods.some(isControl) || !methods.some((name) => this.#affects(name));
    if (isExempt) return { delayMs: 0, fault: undefined };
    this.#exchanges++;
    const fault = pick(EXCHANGE_FAULTS, this.#settings, this.#random.exchange.next());
    if (fault !== undefined) this.#strike(fault);
    return { delayMs: this.#drawDelay(), fault };
  }

  /** Draws the number of a batch's requests that the node executes before the connection breaks. */
  drawPart(requests: number): number {
    return this.#random.part.below(requests + 1);
  }

  /** Draws whether WebSockets are cut after this block. */
  drawCut(): boolean {
    const { cutSockets = 0 } = this.#settings;
    if (cutSockets === 0 || this.#random.cut.next() >= cutSockets) return false;
    this.#strike("cutSockets");
    return true;
  }

  /** Draws up to `count` items of a list. */
  drawSome<T>(items: readonly T[], count: number): T[] {
    const remaining = [...items];
    const drawn: T[] = [];
    while (drawn.length < count && remaining.length > 0) {
      drawn.push(...remaining.splice(this.#random.evict.below(remaining.length), 1));
    }
    return drawn;
  }

  /** Wraps the methods in the faults of single calls. */
  wrap(methods: Methods): Methods {
    return Object.fromEntries(
      Object.entries(methods).map(([name, run]) => [name, isControl(name) ? run : this.#wrapOne(name, run)]),
    );
  }

  #wrapOne(name: string, run: Method): Method {
    return async (params, connection) => {
      if (!this.#active || !this.#affects(name)) return run(params, connection);
      this.#calls++;
      const forcedError = name === SEND_METHOD ? this.#nextForcedError() : undefined;
      if (forcedError !== undefined)
        return this.#forceError(forcedError, () => run(params, connection), params);
      const fault = pick(CALL_FAULTS, this.#settings, this.#random.call.next());
      // The node can forget only a transaction that was sent.
      if (fault === undefined || (fault === "forget" && name !== SEND_METHOD)) return run(params, connection);
      return this.#strikeCall(fault, () => run(params, connection));
    };
  }

  async #strikeCall(fault: CallFault, run: () => unknown): Promise<unknown> {
    if (fault === "error") {
      this.#strike(fault);
      throw new RpcError(RPC_CODES.internalError, "internal error");
    }
    const result = await run();
    this.#strike(fault);
    if (fault === "afterError") throw new RpcError(RPC_CODES.internalError, "internal error");
    const found = typeof result === "string" ? this.#chain.pool.find(result as Hex) : undefined;
    if (found !== undefined) this.#chain.pool.remove(found.entry);
    return result;
  }

  #nextForcedError(): SendAnswer | undefined {
    for (const [name, count] of this.#forcedErrorsLeft) {
      if (count > 1) this.#forcedErrorsLeft.set(name, count - 1);
      else this.#forcedErrorsLeft.delete(name);
      return name;
    }
    return undefined;
  }

  async #forceError(answer: SendAnswer, run: () => unknown, [raw]: readonly unknown[]): Promise<never> {
    // A transaction that the node refuses gets the node's own error.
    if (answer.startsWith("after")) await run();
    this.#strike(answer);
    throw forcedRefusal(answer, typeof raw === "string" ? raw : "0x", this.#chain.poolKind);
  }

  #drawDelay(): number {
    const { delay = 0, delayMs: [from, to] = DEFAULT_DELAY_MS } = this.#settings;
    if (delay === 0 || this.#random.delay.next() >= delay) return 0;
    this.#strike("delay");
    return from + this.#random.delay.below(to - from + 1);
  }

  #affects(method: string): boolean {
    return !isControl(method) && (this.#methods.has(method) || this.#methods.has("*"));
  }

  #strike(name: string): void {
    this.#struck[name] = (this.#struck[name] ?? 0) + 1;
  }
}

function randoms(seed: number): Readonly<Record<(typeof STREAMS)[number], SeededRandom>> {
  const streams = STREAMS.map((name, stream) => [name, new SeededRandom(seed, stream)]);
  return Object.fromEntries(streams);
}

/** Maps a draw from 0 to 1 to the fault in whose share it falls, if any. */
function pick<T extends ExchangeFault | CallFault>(
  names: readonly T[],
  settings: FaultSettings,
  draw: number,
): T | undefined {
  let end = 0;
  for (const name of names) {
    end += settings[name] ?? 0;
    if (draw < end) return name;
  }
  return undefined;
}

/** Makes the error that the node itself would answer. */
function forcedRefusal(answer: SendAnswer, raw: string, pool: PoolKind): RefusedError {
  const { hash, nonce } = readSent(raw);
  switch (answer) {
    case "alreadyKnown":
    case "afterAlreadyKnown":
      return new RefusedError("ALREADY_KNOWN", `already known: ${hash} is in the pool`, { hash });
    case "nonceTooLow":
    case "afterNonceTooLow":
      return new RefusedError(
        "NONCE_TOO_LOW",
        pool === "strict"
          ? `invalid nonce; got ${nonce}, expected ${nonce + 1n}: invalid sequence`
          : `nonce too low: next nonce ${nonce + 1n}, tx nonce ${nonce}`,
        { nonce: nonce.toString(), expected: (nonce + 1n).toString() },
      );
    case "underpriced":
    case "afterUnderpriced":
      return new RefusedError(
        "REPLACEMENT_UNDERPRICED",
        `replacement transaction underpriced: another transaction holds nonce ${nonce}`,
        { nonce: nonce.toString() },
      );
  }
}

/** Reads the hash and the nonce of sent bytes, or zeros where they are malformed. */
function readSent(raw: string): { hash: Hex; nonce: bigint } {
  try {
    const bytes = hexToBytes(raw);
    return { hash: bytesToHex(crypto.keccak256(bytes)), nonce: decodeForEvm(bytes).nonce };
  } catch {
    return { hash: "0x", nonce: 0n };
  }
}
