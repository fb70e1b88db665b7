import { EndpointLimits, type RequestSize } from "./endpointLimits.js";

/** A call as it goes over the wire. */
export interface WireCall {
  /** Its id in the request. */
  readonly id: number;
  /** Method and parameters, by which the call is known again. */
  readonly name: string;
  /** ASCII: its length is its size in bytes. */
  readonly text: string;
  /** The most calls of a request with it, after one that timed out at another endpoint. */
  most?: number | undefined;
}

/** Calls that go in one request, in their order. */
export interface CallList<C extends WireCall> extends RequestSize {
  readonly list: readonly C[];
  /** The limit of the endpoint that the request has reached. */
  readonly bound: "calls" | "bytes" | undefined;
}

/** A call of a request that failed whole. */
interface Suspect {
  /** The most calls of a request with it. */
  readonly most: number;
  /** The callers have waited long for the request that failed. */
  readonly isSlow: boolean;
  /** It failed alone, and is not asked before this time. In ms of a monotonic clock. */
  readonly restsUntil: number;
  /** 0 until it has failed alone. */
  readonly restMs: number;
  readonly since: number;
  /** The answers of its method, as they were counted when it became a suspect, or failed alone last. */
  readonly answers: number;
  /** Its method had no answer since it failed before: the endpoint may be the cause. */
  readonly isDoubtful: boolean;
}

/** A request that failed whole, with the calls of it that no smaller one has answered yet. */
interface FailedList extends RequestSize {
  readonly left: Set<string>;
  readonly since: number;
}

/** The part of a call's name that says its method. */
export const methodOf = ({ name }: Pick<WireCall, "name">) => name.slice(0, name.indexOf(","));

const MIN_REST_MS = 1_000;
const MAX_REST_MS = 30_000;
/** A slow list costs the callers a second each time, so it is divided into more parts. */
export const SLOW_PARTS = 8;
const FAST_PARTS = 2;
/** Suspects are forgotten after this time, and most of all this many bytes of them are kept. */
const FORGET_MS = 60_000;
const MAX_REMEMBERED_BYTES = 4_194_304;

/**
 * Divides lists of calls for one endpoint, by one law: a call of a request that failed whole, whatever its method and the
 * cause, goes next in a request of half the calls, until it is answered or alone. What fails alone rests for 1 to 30 s and
 * stays alone, so that it holds up no other call. Where nothing of its method was answered meanwhile, the next answer ends the rest:
 * the endpoint may have been the cause. Where all calls of two failed requests were answered in smaller ones, and none of that size
 * was answered between, their size was the cause: the endpoint's limit is lowered.
 */
export class Division {
  readonly #limits = new EndpointLimits();
  readonly #suspects = new Map<string, Suspect>();
  /** The answers of each method since there have been suspects. */
  readonly #answers = new Map<string, number>();
  /** The last time at which a call of each method was answered late. */
  readonly #late = new Map<string, number>();
  #failed: FailedList[] = [];
  /** The size of a failed request whose calls were answered in smaller ones. */
  #doubted: RequestSize | undefined;

  /** The calls to ask now, those that have failed alone before at the end unless the order counts, and the ones that rest. */
  due<C extends WireCall>(
    calls: readonly C[],
    now: number,
    keepsOrder = false,
  ): { readonly asked: C[]; readonly resting: C[] } {
    if (this.#suspects.size === 0) return { asked: [...calls], resting: [] };
    const rests = (call: C) => (this.#suspects.get(call.name)?.restsUntil ?? 0) > now;
    const failedAlone = (call: C) => (this.#suspects.get(call.name)?.restMs ?? 0) > 0;
    if (keepsOrder) return { asked: calls.filter((one) => !rests(one)), resting: calls.filter(rests) };
    const others = calls.filter((call) => !failedAlone(call));
    const alone = calls.filter(failedAlone);
    return { asked: [...others, ...alone.filter((one) => !rests(one))], resting: alone.filter(rests) };
  }

  /** The first calls of a list, as many as may go in one request. */
  first<C extends WireCall>(calls: readonly C[]): CallList<C> {
    const list: C[] = [];
    let bytes = 0;
    let bound: CallList<C>["bound"];
    let most = Number.POSITIVE_INFINITY;
    for (const call of calls) {
      const mostOfNext = this.#suspects.get(call.name)?.most ?? call.most ?? Number.POSITIVE_INFINITY;
      bound = this.#limits.boundOf({ calls: list.length, bytes }, call.text.length + 1);
      if (bound !== undefined || list.length >= Math.min(most, mostOfNext)) break;
      most = Math.min(most, mostOfNext);
      list.push(call);
      bytes += call.text.length + 1;
    }
    return {
      list,
      calls: list.length,
      bytes,
      bound: bound ?? this.#limits.boundOf({ calls: list.length, bytes }, 0),
    };
  }

  /** Tells whether a request with this call has failed whole here, or timed out at another endpoint, and the call was not answered since. */
  isSuspect({ name, most }: WireCall): boolean {
    return this.#suspects.has(name) || most !== undefined;
  }

  /** Tells whether a request with this call has taken too long here, and the call was not answered since. */
  wasSlowHere({ name }: WireCall): boolean {
    return this.#suspects.get(name)?.isSlow ?? false;
  }

  /** Tells whether a request with this call has timed out, here or at another endpoint, and the call was not answered since. */
  isSlow({ name, most }: WireCall): boolean {
    return this.#suspects.get(name)?.isSlow ?? most !== undefined;
  }

  /** Tells whether the endpoint has lately answered a call of one of these methods, after a long time. */
  answersLate(calls: readonly WireCall[], now: number): boolean {
    return calls.some((call) => now - (this.#late.get(methodOf(call)) ?? -FORGET_MS) < FORGET_MS);
  }

  onLateAnswers(answered: readonly WireCall[], now: number): void {
    for (const call of answered) this.#late.set(methodOf(call), now);
  }

  /**
   * Takes note of the calls of a request that were answered.
   * @param isLoneError the answer is an error of the only call: that call was the cause, where longer requests failed.
   */
  onAnswered<C extends WireCall>(
    { list, calls, bytes, bound }: CallList<C>,
    answered: readonly C[],
    isLoneError: boolean,
  ): void {
    if (answered.length === list.length) {
      if (bound !== undefined) this.#limits.fit(bound);
      this.#failed = this.#failed.filter((failed) => failed.calls > calls || failed.bytes > bytes);
      if (this.#doubted && calls >= this.#doubted.calls && bytes >= this.#doubted.bytes)
        this.#doubted = undefined;
    }
    if (this.#suspects.size === 0) return;
    for (const { name } of answered) {
      if (isLoneError) this.#acquitLists(name);
      this.#answer(name);
    }
    for (const method of new Set(answered.map(methodOf))) this.#serve(method);
  }

  /** The endpoint serves the method, perhaps again. */
  #serve(method: string): void {
    this.#answers.set(method, (this.#answers.get(method) ?? 0) + 1);
    for (const [name, suspect] of this.#suspects) {
      if (suspect.isDoubtful && methodOf({ name }) === method)
        this.#suspects.set(name, { ...suspect, restsUntil: 0, isDoubtful: false });
    }
  }

  /** The call was the cause for which longer requests failed, not their size. */
  #acquitLists(name: string): void {
    this.#failed = this.#failed.filter(({ left }) => !left.has(name));
  }

  #answer(name: string): void {
    const suspect = this.#suspects.get(name);
    if (suspect === undefined) return;
    this.#suspects.delete(name);
    for (const failed of this.#failed) {
      failed.left.delete(name);
      if (failed.left.size > 0 || failed.calls === 1) continue;
      if (this.#doubted) this.#limits.lower(failed);
      else this.#doubted = failed;
    }
    this.#failed = this.#failed.filter(({ left }) => left.size > 0);
    // The endpoint was the cause, and may be well again.
    if (suspect.restMs > 0)
      for (const [other, one] of this.#suspects) this.#suspects.set(other, { ...one, restsUntil: 0 });
  }

  /**
   * Takes note of the calls of a request that were not answered, although the endpoint answers others.
   * @param isSlow the callers have waited long for it.
   * @returns whether it was one call, which had failed before.
   */
  onFailed<C extends WireCall>(calls: readonly C[], isSlow: boolean, now: number): boolean {
    const [first] = calls;
    const most = Math.ceil(calls.length / (isSlow ? SLOW_PARTS : FAST_PARTS));
    if (isSlow) for (const call of calls) call.most = most;
    const before = calls.length === 1 && first ? this.#suspects.get(first.name) : undefined;
    if (first && before?.most === 1) {
      const restMs = Math.min(MAX_REST_MS, Math.max(MIN_REST_MS, 2 * before.restMs));
      const answers = this.#answersLike(first);
      const isDoubtful = before.answers === answers;
      this.#note(first, {
        most: 1,
        isSlow,
        restMs,
        restsUntil: now + restMs,
        since: now,
        answers,
        isDoubtful,
      });
      this.#acquitLists(first.name);
      return true;
    }
    for (const call of calls) {
      const { answers = this.#answersLike(call) } = this.#suspects.get(call.name) ?? {};
      this.#note(call, { most, isSlow, restMs: 0, restsUntil: 0, since: now, answers, isDoubtful: false });
    }
    const bytes = calls.reduce((sum, { text }) => sum + text.length + 1, 0);
    const left = new Set(calls.map(({ name }) => name));
    this.#failed.push({ left, calls: calls.length, bytes, since: now });
    this.#forget(now);
    return false;
  }

  #note({ name }: WireCall, suspect: Suspect): void {
    this.#suspects.delete(name);
    this.#suspects.set(name, suspect);
  }

  #answersLike(call: WireCall): number {
    return this.#answers.get(methodOf(call)) ?? 0;
  }

  /** Forgets old suspects, which no caller asks for any more. */
  #forget(now: number): void {
    let bytes = 0;
    for (const [name, { since }] of [...this.#suspects].reverse()) {
      bytes += name.length;
      if (now - since > FORGET_MS || bytes > MAX_REMEMBERED_BYTES) this.#suspects.delete(name);
    }
    this.#failed = this.#failed.filter(({ since }) => now - since <= FORGET_MS);
  }
}
