import {
  assembleWrapperTx,
  bytesToHex,
  decodeInnerTx,
  hashTransaction,
  ProtocolError,
  type Signature,
  signingHash,
  signingMessage,
  type WaiverAccount,
  wrapInnerTx,
} from "@gas-waiver/protocol";
import type { Metrics } from "../model/telemetry/metrics.js";
import { onAbort } from "../util/onAbort.js";
import { createWakeableTimer } from "../util/wakeableTimer.js";
import {
  type CallOutcome,
  type CustodyError,
  callCustody,
  custodyError,
  type Signable,
  WrongSignatureError,
} from "./custodyCalls.js";
import type { LaneSigner, LaneSignRequest } from "./laneSigner.js";
import { createSignatureRate, type SignatureRate } from "./signatureRate.js";
import type { SignedWrapper, WrappingOptions } from "./wrappers.js";

/** The time after which a step goes on with what is signed, so that what has come since is planned too, in ms. */
const HOLD_MS = 50;
/** The same while more waits than the rate allows: each step asks the nodes for the nonces of all that it plans. */
const HOLD_BEHIND_MS = 100;
/** A step plans what the rate can begin within this time, in s. It covers the time from one step's signatures to the next. */
const AHEAD_S = 0.25;
const LEAST_AHEAD = 4;
const LEAST_OPEN_CALLS = 16;
const MAX_TRIES = 3;
/** The pause before the second try, in ms; each further one is twice as long. */
const RETRY_MS = 100;
const REFUSED_MS = 2_000;

export interface CustodySignerOptions {
  readonly account: WaiverAccount;
  readonly wrapping: WrappingOptions;
  /** The signatures per second that the custody is asked for at most. */
  readonly perSecond: number;
  /** The time that one signature may take. */
  readonly timeoutMs: number;
  /** Once it is aborted, no signature is asked or waited for. */
  readonly signal: AbortSignal;
  readonly metrics?: Pick<Metrics, "custodyOf"> | undefined;
}

/** The signature of one submission under one nonce. `docs/design/custody.md` has the states. */
interface SigningEntry {
  readonly id: string;
  readonly waiverNonce: bigint;
  readonly signable: Signable;
  readonly complete: (signature: Signature) => SignedWrapper;
  state: "waiting" | "open" | "signed" | "failed";
  tries: number;
  /** Not to be asked for before this time. */
  notBefore: number;
  /** The time of the first try, or of the first after the custody had failed. */
  firstTryAt: number;
  error: CustodyError | undefined;
  wrapper: SignedWrapper | undefined;
}

/** Signs with an account outside of this process: many signatures at once, at the custody's rate, returned in nonce order. */
export class CustodySigner implements LaneSigner {
  readonly #options: CustodySignerOptions;
  readonly #observe: ReturnType<Metrics["custodyOf"]> | undefined;
  readonly #rate: SignatureRate;
  /** Keyed by submission, in the order of their nonces. */
  #entries = new Map<string, SigningEntry>();
  readonly #refusedUntil = new Map<string, number>();
  #openCalls = 0;
  #lastSignatureAt = Number.NEGATIVE_INFINITY;
  /** The time since when the custody owes a signature. */
  #owesSince = 0;
  #wrong: WrongSignatureError | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Woken after each answer of the custody. */
  readonly #change = createWakeableTimer();

  constructor(options: CustodySignerOptions) {
    this.#options = options;
    this.#rate = createSignatureRate(options.perSecond);
    this.#observe = options.metrics?.custodyOf(bytesToHex(options.account.address));
  }

  get window(): number {
    return this.begun.size + Math.max(LEAST_AHEAD, Math.ceil(this.#rate.perSecond * AHEAD_S));
  }

  get begun(): ReadonlyMap<string, bigint> {
    const isBegun = ({ state }: SigningEntry) => state === "open" || state === "signed";
    return new Map([...this.#entries.values()].filter(isBegun).map((one) => [one.id, one.waiverNonce]));
  }

  isRefused(id: string): boolean {
    const until = this.#refusedUntil.get(id);
    if (until === undefined || performance.now() < until) return until !== undefined;
    this.#refusedUntil.delete(id);
    return false;
  }

  async sign(requests: readonly LaneSignRequest[]): Promise<readonly SignedWrapper[]> {
    const { signal } = this.#options;
    this.#name(requests);
    this.#askNext();
    const isBehind = [...this.#entries.values()].some(({ state }) => state === "waiting");
    const holdUntil = performance.now() + (isBehind ? HOLD_BEHIND_MS : HOLD_MS);
    const stopListening = onAbort(signal, this.#change.wake);
    try {
      for (;;) {
        const holdMs = holdUntil - performance.now();
        const wrappers = this.#takeSigned(holdMs > 0);
        if (wrappers) return wrappers;
        if (signal.aborted) throw custodyError("the service is shutting down");
        await this.#change.rest(holdMs, true);
      }
    } finally {
      stopListening();
    }
  }

  /** Keeps the entries that are named again under their nonce, and drops all others. */
  #name(requests: readonly LaneSignRequest[]): void {
    const known = this.#entries;
    this.#entries = new Map(
      requests.map((request) => {
        const entry = known.get(request.id);
        const isSame = entry?.waiverNonce === request.waiverNonce;
        return [request.id, isSame ? entry : this.#newEntry(request)];
      }),
    );
    const isOwed = ({ id, state }: SigningEntry) =>
      this.#entries.has(id) && (state === "open" || state === "waiting");
    if (![...known.values()].some(isOwed)) this.#owesSince = performance.now();
  }

  #newEntry({ id, innerRaw, waiverNonce }: LaneSignRequest): SigningEntry {
    const { wrapping, account } = this.#options;
    const unsigned = wrapInnerTx(decodeInnerTx(innerRaw), { ...wrapping, nonce: waiverNonce });
    return {
      id,
      waiverNonce,
      signable: { hash: signingHash(unsigned), message: signingMessage(unsigned) },
      complete(signature) {
        const signed = assembleWrapperTx(unsigned, signature, account.address);
        return { wrapperRaw: signed.raw, wrapperHash: hashTransaction(signed) };
      },
      state: "waiting",
      tries: 0,
      notBefore: 0,
      firstTryAt: 0,
      error: undefined,
      wrapper: undefined,
    };
  }

  /**
   * Returns the wrappers of the first entries that are signed, once they are all signed, or `mayHold` is over. Undefined
   * while there is something to wait for.
   */
  #takeSigned(mayHold: boolean): SignedWrapper[] | undefined {
    if (this.#wrong) {
      const wrong = this.#wrong;
      this.#forget();
      throw wrong;
    }
    const entries = [...this.#entries.values()];
    const wrappers: SignedWrapper[] = [];
    for (const { wrapper } of entries) {
      if (wrapper === undefined) break;
      wrappers.push(wrapper);
    }
    const first = entries[wrappers.length];
    if (first === undefined || wrappers.length > 0) {
      return first === undefined || first.state === "failed" || !mayHold ? wrappers : undefined;
    }
    if (first.state === "failed") return this.#refuse(first);
    if (mayHold) return undefined;
    this.#assertNotSilent();
    return [];
  }

  /** Leaves a submission out that the custody does not sign. @throws {@link CustodyError} if it signs nothing else either. */
  #refuse(entry: SigningEntry): SignedWrapper[] {
    if (this.#lastSignatureAt < entry.firstTryAt) {
      this.#forget();
      throw entry.error ?? custodyError("it failed");
    }
    this.#refusedUntil.set(entry.id, performance.now() + REFUSED_MS);
    this.#entries.delete(entry.id);
    return [];
  }

  /** A custody that does nothing but throttle has failed as one that does not answer. */
  #assertNotSilent(): void {
    const { timeoutMs } = this.#options;
    const since = Math.max(this.#owesSince, this.#lastSignatureAt);
    if (performance.now() - since < 2 * timeoutMs) return;
    this.#forget();
    throw custodyError(`no signature within ${2 * timeoutMs} ms`);
  }

  #forget(): void {
    this.#wrong = undefined;
    this.#entries = new Map();
  }

  /** Asks for as many signatures as the rate and the open calls allow. */
  #askNext(): void {
    clearTimeout(this.#timer);
    if (this.#options.signal.aborted) return;
    const now = performance.now();
    const maxOpen = Math.max(LEAST_OPEN_CALLS, this.#options.perSecond);
    const waiting = [...this.#entries.values()].filter(({ state }) => state === "waiting");
    let nextMs = Number.POSITIVE_INFINITY;
    for (const entry of waiting) {
      if (this.#openCalls >= maxOpen) break;
      if (entry.notBefore > now) {
        nextMs = Math.min(nextMs, entry.notBefore - now);
        continue;
      }
      const restMs = this.#rate.take();
      if (restMs > 0) {
        nextMs = Math.min(nextMs, restMs);
        break;
      }
      void this.#ask(entry);
    }
    if (nextMs < Number.POSITIVE_INFINITY)
      this.#timer = setTimeout(() => this.#askNext(), Math.ceil(nextMs)).unref();
  }

  async #ask(entry: SigningEntry): Promise<void> {
    const { account, timeoutMs } = this.#options;
    const askedAt = performance.now();
    entry.state = "open";
    if (entry.tries++ === 0) entry.firstTryAt = askedAt;
    this.#openCalls++;
    const outcome = await callCustody(account, entry.signable, timeoutMs);
    this.#openCalls--;
    const kind = this.#note(entry, outcome);
    this.#observe?.(kind, (performance.now() - askedAt) / 1_000);
    this.#askNext();
    this.#change.wake();
  }

  /** Moves an entry by the end of its call. Returns its kind for the metrics. */
  #note(entry: SigningEntry, outcome: CallOutcome): "signed" | "throttled" | "failed" | "wrong" {
    if (outcome.kind === "signature") return this.#noteSignature(entry, outcome.signature);
    if (outcome.kind === "throttled") {
      this.#rate.throttle(outcome.retryAfterMs);
      entry.state = "waiting";
      entry.tries--;
      return "throttled";
    }
    const isAlone = this.#lastSignatureAt < entry.firstTryAt;
    const isLast = entry.tries >= MAX_TRIES || (outcome.kind === "no answer" && isAlone);
    entry.state = isLast ? "failed" : "waiting";
    entry.error = outcome.error;
    entry.notBefore = performance.now() + RETRY_MS * 2 ** (entry.tries - 1);
    return "failed";
  }

  #noteSignature(entry: SigningEntry, signature: Signature): "signed" | "wrong" {
    try {
      entry.wrapper = entry.complete(signature);
      entry.state = "signed";
      this.#lastSignatureAt = performance.now();
      return "signed";
    } catch (error) {
      entry.state = "failed";
      const reason = error instanceof ProtocolError ? error.message : "its answer is no signature";
      this.#wrong = new WrongSignatureError(custodyError(reason).message, { cause: error });
      return "wrong";
    }
  }
}
