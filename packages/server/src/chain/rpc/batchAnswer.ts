import type { HttpAnswer } from "./httpPoster.js";
import { isObject, NodeRpcError, type RpcOutcome, RpcUnavailableError, shorten } from "./rpcOutcome.js";

const RATE_LIMITED = 429;
/** A provider's error has some sentences: the account's trouble, and what to do. */
const MAX_REFUSAL_CHARACTERS = 240;
/** The end of a batch whose other calls were answered: geth (too large, too late) and Nethermind. */
const CUT_SHORT = /^response too large$|^request timed out$|MaxBatchResponseBodySize/i;

/**
 * Reads the answer to a request. A call is answered by a result or an error with the call's own id, once. Everything else says
 * nothing of any call, whatever its words: a status, an error without an id, a lone error to one call of many, which is
 * geth's way to refuse a batch, or a list with a call's id that was never used.
 * @param ids of the request's calls.
 * @param isSend the calls change something. Then an answer counts only with a status of success.
 * @returns the outcomes in the order of the ids; undefined for a call without an answer.
 */
export function readAnswers(
  { status, text }: HttpAnswer,
  ids: readonly number[],
  isSend: boolean,
): (RpcOutcome | undefined)[] {
  const isBatch = ids.length > 1;
  const isSuccess = status >= 200 && status < 300;
  if (status === RATE_LIMITED || (!isSuccess && (isBatch || isSend))) return ids.map(() => undefined);
  const answers = new Map<unknown, Record<string, unknown>>();
  const repeated = new Set<unknown>();
  for (const answer of answersIn(text)) {
    if (answers.has(answer.id)) repeated.add(answer.id);
    answers.set(answer.id, answer);
  }
  // An id that nobody has used means that the answers may be anybody's, those with right ids too.
  const isForeign = (id: unknown) => typeof id === "number" && !ids.includes(id);
  if ([...answers.keys()].some(isForeign)) return ids.map(() => undefined);
  const outcomes = ids.map((id) => {
    const answer = answers.get(id);
    const outcome = answer === undefined || repeated.has(id) ? undefined : outcomeOf(answer);
    return isBatch && isCutShort(outcome) ? undefined : outcome;
  });
  const areErrors = outcomes.every((outcome) => outcome === undefined || "error" in outcome);
  return areErrors && outcomes.includes(undefined) ? ids.map(() => undefined) : outcomes;
}

/** The error of the calls that an answer says nothing of. */
export function unanswered({ status, text }: HttpAnswer): RpcUnavailableError {
  const start = shorten(text, MAX_REFUSAL_CHARACTERS).replace(/\s+/g, " ");
  return new RpcUnavailableError(
    `the node answered HTTP ${status} without a usable JSON-RPC answer: ${start}`,
    status === RATE_LIMITED ? "no" : "unknown",
    { status },
  );
}

function isCutShort(outcome: RpcOutcome | undefined): boolean {
  return outcome !== undefined && "error" in outcome && CUT_SHORT.test(outcome.error.message);
}

function answersIn(text: string): Record<string, unknown>[] {
  try {
    const body: unknown = JSON.parse(text);
    return (Array.isArray(body) ? body : [body]).filter(isObject);
  } catch {
    return [];
  }
}

function outcomeOf(answer: Record<string, unknown>): RpcOutcome | undefined {
  if (!isObject(answer.error)) return "result" in answer ? { result: answer.result } : undefined;
  const { code, message, data } = answer.error;
  const text = typeof message === "string" ? shorten(message) : "error without a message";
  return { error: new NodeRpcError(typeof code === "number" ? code : 0, text, data) };
}
