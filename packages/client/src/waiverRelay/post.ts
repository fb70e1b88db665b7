import { wasNeverSent } from "@gas-waiver/protocol";
import { ConnectionFailedError, MalformedAnswerError } from "../errors.js";

/** Ways to send a request to a node. */
export interface PostOptions {
  readonly signal?: AbortSignal | undefined;
  /** The `fetch` to use; the platform's own by default. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/**
 * Sends one JSON-RPC request, once.
 * @param body one call, or a list of calls.
 * @throws ConnectionFailedError without an answer, MalformedAnswerError for one that is no JSON, or the reason of an aborted
 * signal. They name only the origin of the address, since paths of nodes hold keys.
 */
export async function post(
  rpcUrl: string | URL,
  body: object,
  { signal, fetch = globalThis.fetch }: PostOptions,
): Promise<{ readonly status: number; readonly answer: unknown }> {
  const headers = { "content-type": "application/json" };
  const init = { method: "POST", headers, body: JSON.stringify(body), ...(signal && { signal }) };
  const failed = (cause: unknown) => {
    if (signal?.aborted) throw signal.reason;
    const certainty = wasNeverSent(cause) ? "not_sent" : "unknown";
    throw new ConnectionFailedError(new URL(rpcUrl).origin, certainty, cause, "node");
  };
  const response = await fetch(rpcUrl, init).catch(failed);
  const text = await response.text().catch(failed);
  const { status } = response;
  try {
    return { status, answer: JSON.parse(text) };
  } catch (cause) {
    throw new MalformedAnswerError(status, `the node answered with status ${status} and no JSON`, { cause });
  }
}

export function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
