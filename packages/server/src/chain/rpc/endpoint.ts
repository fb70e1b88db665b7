import { within } from "../../util/within.js";
import { readAnswers, unanswered } from "./batchAnswer.js";
import { type CallList, Division, methodOf, SLOW_PARTS, type WireCall } from "./division.js";
import { type NoAnswerError, type OpenMemory, type Poster, ResponseTooLargeError } from "./httpPoster.js";
import { MethodRests } from "./methodRests.js";
import { noAnswer, type RpcOutcome, RpcUnavailableError } from "./rpcOutcome.js";

/** A call on its way to an answer. */
export interface PendingCall extends WireCall {
  /** The call changes something: its order counts, and so does each request with it. */
  readonly isSend: boolean;
  readonly openMemory?: OpenMemory | undefined;
  /** Undefined until it is answered. */
  outcome: RpcOutcome | undefined;
  /** An answer that does not tell what was asked. */
  untold?: RpcOutcome;
  /** The reason for which it is not answered. */
  failure: RpcUnavailableError | undefined;
  /** The requests with it that may have reached a node. */
  requests: number;
}

const REST_MS = 1_000;
const MAX_REST_MS = 30_000;
/** A turn at an endpoint ends after failed requests of this weight, and the next turn goes on dividing. */
const MAX_FAILURES = 12;
/** A failed request that took this long counts as six. */
const SLOW_MS = 1_000;
const SLOW_WEIGHT = 6;
/** The time of a call that is alone and took too long before: a late answer gives it the usual time again. */
const SUSPECT_MS = 250;
/** An endpoint that answers nothing within this time after a failed request is away. */
const PROBE_MS = 1_000;
const PROBE_NAME = '"method":"eth_blockNumber","params":[]}';
const PROBE: WireCall = { id: 0, name: PROBE_NAME, text: `{"jsonrpc":"2.0","id":0,${PROBE_NAME}` };

/**
 * One node, or a proxy before some. A request that fails whole has one question: is the endpoint at work? It is if it has answered
 * anything since, or answers a probe. Then calls are the cause, and the request is divided. If not, the endpoint rests.
 */
export class Endpoint {
  readonly poster: Poster;
  /** Its place in the order of preference. */
  readonly place: number;
  readonly #mayAnswerTooLong: boolean;
  readonly #division = new Division();
  readonly methods = new MethodRests();
  /** The requests that it has answered, if only one of their calls. */
  #answers = 0;
  #failures = 0;
  #restsUntil = 0;

  /** @param options `mayAnswerTooLong`: an answer may be too long because of what was asked. */
  constructor(poster: Poster, place: number, { mayAnswerTooLong }: { readonly mayAnswerTooLong: boolean }) {
    this.poster = poster;
    this.place = place;
    this.#mayAnswerTooLong = mayAnswerTooLong;
  }

  /** The end of the endpoint's rest by the monotonic clock, in ms: after a failure, or for as long as it asks for. */
  get restsUntil(): number {
    return Math.max(this.#restsUntil, this.poster.heldUntil?.() ?? 0);
  }

  #isHeld(calls: readonly PendingCall[]): boolean {
    return (this.poster.heldUntil?.(methodsOf(calls), calls[0]?.isSend) ?? 0) > performance.now();
  }

  /**
   * Asks for calls in their order, in as few requests as the endpoint takes. A request that fails whole is divided, if the
   * endpoint answers anything else. Each call has an outcome or a failure afterwards.
   * @param mayGoTogether the order of the answers does not matter. Otherwise no read has an answer that is older than those before it.
   */
  async ask(calls: readonly PendingCall[], mayGoTogether = false): Promise<void> {
    const keepsOrder = !mayGoTogether && calls.every(({ isSend }) => !isSend);
    const { asked, resting } = this.#division.due(calls, performance.now(), keepsOrder);
    for (const call of resting) call.failure = ofCall("the endpoint fails with this call alone, which rests");
    const begunAt = this.#answers;
    let pending = asked;
    let failures = 0;
    let why: RpcUnavailableError | undefined;
    while (pending.length > 0) {
      const lists = this.#together(pending, mayGoTogether);
      pending = pending.slice(lists.reduce((sum, { calls: count }) => sum + count, 0));
      const posts = await Promise.all(lists.map((list) => this.#postInTime(list, keepsOrder)));
      const again: PendingCall[] = [];
      for (const { left, failure, isSlow, ms, isPassedOver, countedAt } of posts) {
        if (left.length === 0) continue;
        const since = isSlow || isAway(failure) ? countedAt : begunAt;
        if (!(await this.#isAtWork(since, left, failure))) {
          for (const post of posts) fail(post.left, post.failure);
          holdBack(pending, failure);
          return this.#rest();
        }
        failures += isSlow && ms >= SLOW_MS ? SLOW_WEIGHT : 1;
        const isAlone = this.#division.onFailed(left, isSlow, performance.now());
        fail(left, left.length === 1 ? ofCall(failure.message, failure) : failure);
        if ((isPassedOver && left.length > 1) || !(isAlone || isSlow)) again.push(...left);
        why = failure;
      }
      pending = [...again, ...pending].filter(({ outcome }) => outcome === undefined);
      if (why && failures >= MAX_FAILURES) return holdBack(pending, why);
    }
  }

  /** The next list; with it the next parts of a read that timed out, because each may do so again. */
  #together(pending: readonly PendingCall[], mayGoTogether: boolean): CallList<PendingCall>[] {
    const lists: CallList<PendingCall>[] = [];
    const isSlow = (call: PendingCall | undefined) => call && !call.isSend && this.#division.isSlow(call);
    let left = pending;
    do {
      const list = this.#division.first(left);
      lists.push(list);
      left = left.slice(list.calls);
    } while (mayGoTogether && lists.length < SLOW_PARTS && isSlow(lists[0]?.list[0]) && isSlow(left[0]));
    return lists;
  }

  /**
   * Posts a list. Where the endpoint answers something else meanwhile, a list that takes long does not have its whole time: the list is
   * divided at once, and a late answer to a call that is alone helps the next one. A list has its whole time where the endpoint has
   * lately answered late, or where callers may ask for what takes long.
   */
  async #postInTime(list: CallList<PendingCall>, keepsOrder: boolean) {
    const [first] = list.list;
    const isAlone = list.calls === 1;
    const wasSlow = isAlone && first !== undefined && this.#division.wasSlowHere(first);
    const ms = wasSlow ? SUSPECT_MS : SLOW_MS;
    let isPassedOver = false;
    const postedAt = this.#answers;
    const post = this.#post(list, postedAt, () => isPassedOver && keepsOrder);
    if (first === undefined || (await isWithin(post, ms))) return await post;
    const mayTakeLong =
      (isAlone && this.#mayAnswerTooLong) || this.#division.answersLate(list.list, performance.now());
    if (!wasSlow && (mayTakeLong || !(await Promise.race([post.then(() => false), this.#answersProbe()]))))
      return await post;
    isPassedOver = true;
    const failure = ofCall("no answer came in time");
    return { left: list.list, failure, isSlow: true, ms, isPassedOver: !wasSlow, countedAt: postedAt };
  }

  /**
   * Posts a list.
   * @param postedAt the count of answers at this moment.
   * @param isOutdated tells whether its answers come too late for its callers.
   * @returns the calls without an answer, and why.
   */
  async #post(list: CallList<PendingCall>, postedAt: number, isOutdated: () => boolean) {
    const startedAt = performance.now();
    // A request that is on its way counts as arrived for those who do not wait for its end.
    for (const call of list.list) call.requests++;
    const { outcomes, failure, requests } = await this.#request(list.list, list.list[0]);
    const now = performance.now();
    const ms = now - startedAt;
    const isTooLong = this.#mayAnswerTooLong && failure.cause instanceof ResponseTooLargeError;
    const told = (i: number) => (isTooLong ? { error: failure } : outcomes[i]);
    const answered = list.list.filter((_, i) => told(i) !== undefined);
    const left = list.list.filter((_, i) => told(i) === undefined);
    list.list.forEach((call, i) => {
      if (!isOutdated()) call.outcome ??= told(i);
      call.requests += requests - 1;
    });
    if (answered.length > 0) this.#recover();
    const isLoneError = list.calls === 1 && answered.some(({ outcome }) => outcome && "error" in outcome);
    this.#division.onAnswered(list, answered, isLoneError);
    if (ms > SLOW_MS) this.#division.onLateAnswers(answered, now);
    // An answer that is too long shows an endpoint at work, however slow the line is.
    const isSlow = ms >= SLOW_MS && !(failure.cause instanceof ResponseTooLargeError);
    // Answers that came while it waited in vain do not show that the endpoint is still there.
    const countedAt = isSlow && answered.length === 0 ? this.#answers : postedAt;
    return { left, failure, isSlow, ms, isPassedOver: false, countedAt };
  }

  async #request(
    calls: readonly WireCall[],
    { isSend = false, openMemory }: Partial<Pick<PendingCall, "isSend" | "openMemory">> = {},
  ) {
    const texts = calls.map(({ text }) => text);
    try {
      const answer = await this.poster.post(
        calls.length === 1 ? (texts[0] ?? "") : `[${texts.join(",")}]`,
        isSend,
        openMemory,
        methodsOf(calls),
      );
      const ids = calls.map(({ id }) => id);
      const outcomes = readAnswers(answer, ids, isSend);
      return { outcomes, failure: unanswered(answer), requests: answer.requests };
    } catch (error) {
      const { requests } = error as NoAnswerError;
      return { outcomes: [], failure: noAnswer(error as NoAnswerError), requests };
    }
  }

  /**
   * Tells whether the endpoint is at work, although these calls have just failed. A single call that fails for the first time is not
   * worth a probe if another endpoint may be asked for it.
   * @param since the count of answers before the failure.
   */
  async #isAtWork(
    since: number,
    calls: readonly PendingCall[],
    failure: RpcUnavailableError,
  ): Promise<boolean> {
    // A part of the request would wait here for the end of the silence, and be asked of no other endpoint.
    if (this.#isHeld(calls)) return false;
    if (this.#answers > since) return true;
    const [first] = calls;
    if (isAway(failure)) return false;
    const isFirstAlone = calls.length === 1 && first !== undefined && !this.#division.isSuspect(first);
    if (isFirstAlone && (!first.isSend || failure.sent === "no")) return false;
    return await this.#answersProbe();
  }

  async #answersProbe(): Promise<boolean> {
    const probing = this.#request([PROBE]);
    if (!(await isWithin(probing, PROBE_MS)) || (await probing).outcomes[0] === undefined) return false;
    this.#answers++;
    return true;
  }

  #recover(): void {
    this.#answers++;
    this.#failures = 0;
    this.#restsUntil = 0;
  }

  #rest(): void {
    this.#restsUntil = performance.now() + Math.min(MAX_REST_MS, REST_MS * 2 ** this.#failures++);
  }
}

const methodsOf = (calls: readonly WireCall[]) => [...new Set(calls.map(methodOf))];

/** No connection was made. */
function isAway({ sent, cause }: RpcUnavailableError): boolean {
  return sent === "no" && cause !== undefined;
}

function fail(calls: readonly PendingCall[], failure: RpcUnavailableError): void {
  for (const call of calls) call.failure = failure;
}

function ofCall(
  message: string,
  { sent, cause, status }: Partial<RpcUnavailableError> = {},
): RpcUnavailableError {
  return new RpcUnavailableError(message, sent ?? "unknown", { cause, status, isOfCall: true });
}

/** Fails calls that are not asked, or not again, after another request has failed. */
function holdBack(calls: readonly PendingCall[], failure: RpcUnavailableError): void {
  for (const call of calls) {
    const what = call.requests === 0 ? "not sent" : "not sent again";
    call.failure = call.isSend
      ? new RpcUnavailableError(`${what}, after: ${failure.message}`, "no")
      : failure;
  }
}

/** Waits for a promise, which never rejects, for at most some time. */
const isWithin = (promise: Promise<unknown>, ms: number) =>
  within(ms, promise).then(
    () => true,
    () => false,
  );
