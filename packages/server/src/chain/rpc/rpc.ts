import { answerOfFailure, type BatchAnswer, isCutShort, readBatchAnswer } from "./batchAnswer.js";
import type { EndpointHeads } from "./endpointHeads.js";
import { type BatchPart, EndpointLimits } from "./endpointLimits.js";
import { createPoster, type Poster, ResponseTooLargeError } from "./httpPoster.js";
import { ListParts } from "./listParts.js";
import {
  BatchTooLargeError,
  isUnanswered,
  NodeRpcError,
  notSent,
  type RpcCall,
  type RpcOutcome,
  RpcUnavailableError,
} from "./rpcOutcome.js";

export {
  BatchTooLargeError,
  isObject,
  isUnanswered,
  MAX_BATCH_CALLS,
  NodeRpcError,
  notSent,
  type RpcCall,
  type RpcOutcome,
  RpcUnavailableError,
  resultOf,
} from "./rpcOutcome.js";

/** JSON-RPC to one of the chain's nodes, whichever is healthy. Requests keep within what each node takes. */
export interface Rpc {
  /**
   * Calls the first healthy node, and the next ones while no answer comes. For calls that change nothing. More calls than
   * the node takes at once go in several requests, one after the other.
   * @param options `together`: all calls go in one request. If the node does not take that many, each outcome is a
   *   {@link BatchTooLargeError}.
   */
  read(calls: readonly RpcCall[], options?: { readonly together?: boolean }): Promise<RpcOutcome[]>;
  /**
   * Sends in order to one node, and to the next only if the first surely has not seen the request. Otherwise the caller
   * must find out whether it arrived. Calls that the node surely has not looked at, because it found the request too
   * large, are sent again in smaller requests. Nothing is sent after a request that may not have arrived. A node that
   * failed rests for a while.
   */
  send(calls: readonly RpcCall[]): Promise<RpcOutcome[]>;
  /** Tells of each node whether it answered its last request. */
  health(): readonly { readonly url: string; readonly healthy: boolean }[];
}

export interface RpcOptions {
  /** The nodes' URLs in the order of preference. */
  readonly rpcUrls: readonly string[];
  readonly rpcTimeoutMs: number;
  /** Aborts every call in flight. */
  readonly signal: AbortSignal;
  /** Knows which nodes are behind; without it, every node may be asked. */
  readonly heads?: EndpointHeads;
  /**
   * The longest answer that is read, in bytes, where callers may ask for more: a longer one is no failure of the node. By
   * default, answers may be longer than any that the service itself asks for, and a node that exceeds that has failed.
   */
  readonly maxResponseBytes?: number;
}

const REST_MS = 1_000;
const MAX_REST_MS = 30_000;
/** JSON-RPC: the request is not valid. */
const INVALID_REQUEST = -32_600;

interface Endpoint {
  /** Its place in the order of preference. */
  readonly place: number;
  readonly poster: Poster;
  readonly limits: EndpointLimits;
  /** Whether an answer may be too long because of what was asked. */
  readonly mayAnswerTooLong: boolean;
  failures: number;
  /** The end of the endpoint's rest by the monotonic clock, in ms. */
  restsUntil: number;
}

/** Calls as JSON, each serialized once. A call's id is its place. */
interface SerializedCalls {
  readonly texts: readonly string[];
  readonly parts: ListParts;
}

/** Uses the first healthy endpoint in order. An endpoint that failed rests, each time twice as long. */
export function createRpc(options: RpcOptions): Rpc {
  const endpoints: Endpoint[] = options.rpcUrls.map((url, place) => ({
    place,
    poster: createPoster(url, options),
    limits: new EndpointLimits(),
    mayAnswerTooLong: options.maxResponseBytes !== undefined,
    failures: 0,
    restsUntil: 0,
  }));
  const usableInOrder = () => {
    const now = performance.now();
    const usable = endpoints.filter(({ place }) => options.heads?.isUsable(place) ?? true);
    const healthy = usable.filter(({ restsUntil }) => restsUntil <= now);
    const resting = usable.filter(({ restsUntil }) => restsUntil > now);
    return [...healthy, ...resting.sort((a, b) => a.restsUntil - b.restsUntil)];
  };
  const ask: Ask = async (calls, first, { mayTryNext, together = false }) => {
    let answer: BatchAnswer | undefined;
    for (const endpoint of usableInOrder()) {
      answer = await askEndpoint(endpoint, calls, first, together);
      const failure = answer.fit === "fits" ? undefined : failureAt(endpoint, answer.outcomes);
      if (!failure || failure instanceof BatchTooLargeError) return answer;
      if (!mayTryNext(failure) || options.signal.aborted) return answer;
    }
    return answer ?? noUsableNode(calls);
  };
  return {
    read: (calls, { together = false } = {}) => readAll(serialize(calls, together), ask, together),
    send: (calls) => sendAll(serialize(calls), ask),
    health: () => endpoints.map(({ poster, failures }) => ({ url: poster.url, healthy: failures === 0 })),
  };
}

/** Asks the endpoints for the calls from `first` on, as many as fit one request. */
type Ask = (
  calls: SerializedCalls,
  first: number,
  options: {
    readonly mayTryNext: (failure: RpcUnavailableError) => boolean;
    readonly together?: boolean;
  },
) => Promise<BatchAnswer>;

async function readAll(calls: SerializedCalls, ask: Ask, together: boolean): Promise<RpcOutcome[]> {
  const count = calls.texts.length;
  const outcomes: RpcOutcome[] = [];
  while (outcomes.length < count) {
    const { outcomes: answered, fit } = await ask(calls, outcomes.length, {
      mayTryNext: () => true,
      together,
    });
    // The calls from the first one without an answer are sent again in a smaller request.
    const end = fit === "cut short" && answered.length > 1 ? answered.findIndex(isCutShort) : answered.length;
    outcomes.push(...answered.slice(0, end));
    // No node answers, so the calls after these are not tried either.
    const failure = fit === "unclear" || fit === "nothing" ? failureOf(answered) : undefined;
    while (failure && outcomes.length < count) outcomes.push({ error: failure });
  }
  return outcomes;
}

async function sendAll(calls: SerializedCalls, ask: Ask): Promise<RpcOutcome[]> {
  const count = calls.texts.length;
  const outcomes: RpcOutcome[] = [];
  while (outcomes.length < count) {
    const { outcomes: answered, fit } = await ask(calls, outcomes.length, {
      mayTryNext: ({ sent }) => sent === "no",
    });
    // No endpoint takes this call alone. That is an answer to it, and says nothing of the calls after it.
    outcomes.push(...(fit === "too many bytes" ? answered.map(refusedAlone) : answered));
    const lost = outcomes.slice(-answered.length).find(isUnanswered);
    while (lost && outcomes.length < count) outcomes.push(notSent(lost.error));
  }
  return outcomes;
}

function refusedAlone(outcome: RpcOutcome): RpcOutcome {
  return isUnanswered(outcome)
    ? { error: new NodeRpcError(INVALID_REQUEST, outcome.error.message) }
    : outcome;
}

/** Asks one endpoint, in smaller requests while it refuses them for their size. */
async function askEndpoint(
  endpoint: Endpoint,
  calls: SerializedCalls,
  first: number,
  together: boolean,
): Promise<BatchAnswer> {
  for (;;) {
    const part = calls.parts.partFrom(endpoint.limits, first);
    const count = part.end - first;
    if (together && part.end < calls.texts.length) return doesNotFit(calls);
    const answer = await postPart(endpoint, calls, part);
    const isRefused = answer.fit === "too many calls" || answer.fit === "too many bytes";
    if (together && count > 1 && (isRefused || answer.fit === "cut short")) return doesNotFit(calls);
    if (!isRefused || count === 1) return answer;
  }
}

function noUsableNode({ texts }: SerializedCalls): BatchAnswer {
  const error = new RpcUnavailableError("every node is behind, or on another chain", "no");
  return { outcomes: texts.map(() => ({ error })), fit: "nothing" };
}

function doesNotFit({ texts }: SerializedCalls): BatchAnswer {
  const error = new BatchTooLargeError(`the node does not take ${texts.length} calls in one request`, "no");
  return { outcomes: texts.map(() => ({ error })), fit: "nothing" };
}

/** Posts a part, and keeps what the answer tells of the endpoint. */
async function postPart(endpoint: Endpoint, calls: SerializedCalls, part: BatchPart): Promise<BatchAnswer> {
  const answer = await post(endpoint.poster, calls, part);
  calls.parts.onAnswer(endpoint.limits, part, answer.fit, endpoint.failures === 0);
  const isRefused = answer.fit === "too many calls" || answer.fit === "too many bytes";
  const failure = isRefused ? undefined : failureAt(endpoint, answer.outcomes);
  endpoint.failures = failure ? endpoint.failures + 1 : 0;
  const restMs = Math.min(MAX_REST_MS, REST_MS * 2 ** (endpoint.failures - 1));
  endpoint.restsUntil = failure ? performance.now() + restMs : 0;
  return answer;
}

async function post(
  poster: Poster,
  { texts }: SerializedCalls,
  { first, end }: BatchPart,
): Promise<BatchAnswer> {
  const count = end - first;
  try {
    const body = count === 1 ? (texts[first] ?? "") : `[${texts.slice(first, end).join(",")}]`;
    return readBatchAnswer(await poster.post(body), first, count);
  } catch (error) {
    return answerOfFailure(error, count);
  }
}

function serialize(calls: readonly RpcCall[], together = false): SerializedCalls {
  const texts = calls.map((call, id) => JSON.stringify({ jsonrpc: "2.0", id, ...call }));
  // JSON of hex and method names is ASCII.
  const sizes = texts.map(({ length }) => length + 1);
  return { texts, parts: new ListParts(sizes, { together }) };
}

/** Returns the failure of an endpoint at a request; undefined if it has done its part. */
function failureAt(
  { mayAnswerTooLong }: Endpoint,
  outcomes: readonly RpcOutcome[],
): RpcUnavailableError | undefined {
  const failure = failureOf(outcomes);
  return mayAnswerTooLong && failure?.cause instanceof ResponseTooLargeError ? undefined : failure;
}

/** Returns the failure of the whole request, which every call shares; undefined if a call has its own outcome. */
function failureOf(outcomes: readonly RpcOutcome[]): RpcUnavailableError | undefined {
  const [first] = outcomes;
  if (!isUnanswered(first)) return undefined;
  return outcomes.every((outcome) => "error" in outcome && outcome.error === first.error)
    ? first.error
    : undefined;
}
