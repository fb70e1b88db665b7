import { type HttpAnswer, ResponseTooLargeError } from "./httpPoster.js";
import {
  isObject,
  isUnanswered,
  NodeRpcError,
  type RpcOutcome,
  RpcUnavailableError,
  shorten,
  unavailableFor,
} from "./rpcOutcome.js";

/**
 * The verdict of an answer on the size of its request:
 *
 * - `fits`: each call was answered.
 * - `too many calls`, `too many bytes`: the endpoint refused the request for its size and has executed none of its calls.
 * - `cut short`: the endpoint answered some of the calls, or more than we read. Calls without an answer may have been made.
 * - `unclear`: no usable answer came, and the calls may have been made.
 * - `nothing`: the endpoint has executed none of the calls for another reason, or failed all of them.
 */
export type BatchFit = "fits" | "too many calls" | "too many bytes" | "cut short" | "unclear" | "nothing";

/** The outcomes of a request's calls, in their order. */
export interface BatchAnswer {
  readonly outcomes: RpcOutcome[];
  readonly fit: BatchFit;
}

const RATE_LIMITED = 429;
const PAYLOAD_TOO_LARGE = 413;
/** JSON-RPC: the request is not valid. Servers without batches say it of every batch. */
const INVALID_REQUEST = -32_600;
/** jsonrpsee (reth): the request is too big; the batch has too many calls. */
const REQUEST_TOO_BIG = -32_007;
const BATCH_TOO_BIG = -32_010;

/** A refusal of a whole batch for the number of its calls: geth, Erigon, Besu, Nethermind, jsonrpsee, CometBFT, gateways. */
const TOO_MANY_CALLS =
  /\bbatch(ed|es)? ?(requests?|calls?|size|limit|length)?\b.*(too (large|big|long|many)|limit|exceed|not (supported|allowed)|max)|exceed.*\bbatch\b|max(imum)? batch|too many (requests|calls|rpc calls) in (the |a )?batch/i;
/** A refusal of a whole request for its bytes without the status 413: Go's `MaxBytesReader`, body parsers, gateways. */
const TOO_MANY_BYTES =
  /\b(request|payload|body|content|message)( (body|entity|length|payload|size))?( is)? too (big|large|long)\b/i;
/** The answer of the batch, not the batch, was too large, so its calls may have been made (jsonrpsee). */
const RESPONSE_TOO_LARGE = /response/i;
/** The end of a batch whose other calls were answered: geth (too large, too late) and Nethermind. */
const CUT_SHORT = /^response too large$|^request timed out$|MaxBatchResponseBodySize/i;

/** Reads the answer to `count` calls whose ids begin at `firstId`. */
export function readBatchAnswer(response: HttpAnswer, firstId: number, count: number): BatchAnswer {
  // A rate limiter has answered, and the node has seen nothing, whatever the body says.
  if (response.status === RATE_LIMITED) return failed(httpError(response, "no"), count, "nothing");
  if (response.status === PAYLOAD_TOO_LARGE) {
    // Some proxies refuse batches of too many calls with this status too.
    const isForCalls = count > 1 && TOO_MANY_CALLS.test(response.text);
    return failed(httpError(response, "no"), count, isForCalls ? "too many calls" : "too many bytes");
  }
  const answers = answersOf(response.text);
  const refusal = count > 1 ? refusalOfBatch(answers, response, firstId) : undefined;
  if (refusal) return failed(httpError(response, "no"), count, refusal);
  const outcomes: (RpcOutcome | undefined)[] = Array.from({ length: count });
  // An error of the whole batch is one object without an id.
  const batchError = answers.length === 1 && answers[0]?.id === null ? answers[0] : undefined;
  if (batchError !== undefined) outcomes.fill(outcomeOf(batchError));
  for (const answer of answers) {
    const place = typeof answer.id === "number" ? answer.id - firstId : -1;
    if (place in outcomes) outcomes[place] = outcomeOf(answer);
  }
  let unusable: RpcOutcome | undefined;
  const complete = outcomes.map((outcome) => {
    if (outcome) return outcome;
    unusable ??= { error: httpError(response, "unknown") };
    return unusable;
  });
  if (batchError !== undefined) return { outcomes: complete, fit: "nothing" };
  if (complete.every(isUnanswered)) return { outcomes: complete, fit: "unclear" };
  return { outcomes: complete, fit: count > 1 && complete.some(isCutShort) ? "cut short" : "fits" };
}

/** The answer to `count` calls when none came. */
export function answerOfFailure(error: unknown, count: number): BatchAnswer {
  const unavailable = unavailableFor(error);
  if (error instanceof ResponseTooLargeError) return failed(unavailable, count, "cut short");
  return failed(unavailable, count, unavailable.sent === "no" ? "nothing" : "unclear");
}

/** Tells whether a call of a batch has no answer of its own, and may have one in a smaller batch. */
export function isCutShort(outcome: RpcOutcome): boolean {
  if (!("error" in outcome)) return false;
  return !(outcome.error instanceof NodeRpcError) || CUT_SHORT.test(outcome.error.message);
}

function failed(error: RpcUnavailableError, count: number, fit: BatchFit): BatchAnswer {
  return { outcomes: Array.from({ length: count }, () => ({ error })), fit };
}

function refusalOfBatch(
  answers: readonly Record<string, unknown>[],
  { status, text }: HttpAnswer,
  firstId: number,
): BatchFit | undefined {
  if (answers.length === 0) return status === 400 ? refusalBy(text) : undefined;
  const [answer] = answers;
  // geth gives the refusal the id of the first call.
  const isWhole = answer?.id === undefined || answer.id === null || answer.id === firstId;
  if (answers.length > 1 || !isWhole || !isObject(answer?.error)) return undefined;
  const { code, message } = answer.error;
  if (code === REQUEST_TOO_BIG && answer.id !== firstId) return "too many bytes";
  if (code === BATCH_TOO_BIG || (code === INVALID_REQUEST && answer.id !== firstId)) return "too many calls";
  if (typeof message !== "string" || RESPONSE_TOO_LARGE.test(message)) return undefined;
  return refusalBy(message);
}

function refusalBy(message: string): BatchFit | undefined {
  if (TOO_MANY_CALLS.test(message)) return "too many calls";
  return TOO_MANY_BYTES.test(message) ? "too many bytes" : undefined;
}

function answersOf(text: string): Record<string, unknown>[] {
  try {
    const body: unknown = JSON.parse(text);
    return (Array.isArray(body) ? body : [body]).filter(isObject);
  } catch {
    return [];
  }
}

function outcomeOf(answer: Record<string, unknown>): RpcOutcome | undefined {
  if (isObject(answer.error)) {
    const { code, message, data } = answer.error;
    const text = typeof message === "string" ? shorten(message) : "error without a message";
    return { error: new NodeRpcError(typeof code === "number" ? code : 0, text, data) };
  }
  return "result" in answer ? { result: answer.result } : undefined;
}

function httpError({ status, text }: HttpAnswer, sent: "no" | "unknown"): RpcUnavailableError {
  const start = shorten(text.slice(0, 80)).replace(/\s+/g, " ");
  return new RpcUnavailableError(
    `the node answered HTTP ${status} without a usable JSON-RPC answer: ${start}`,
    sent,
  );
}
