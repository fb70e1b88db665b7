/** Error codes of Node and undici for a connection that was never made. Browsers give no such code. */
const NEVER_CONNECTED: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/**
 * Tells whether a request that failed surely never reached the other side, so that it may be sent elsewhere. If false, the
 * other side may have seen the request.
 * @param error the error of the failed request; the chain of its causes is searched, as `fetch` hides the code there.
 * @example
 * ```ts
 * try {
 *   await fetch(nodeUrl, { method: "POST", body });
 * } catch (error) {
 *   if (!wasNeverSent(error)) throw error;
 * }
 * ```
 */
export function wasNeverSent(error: unknown): boolean {
  for (let e = error; e instanceof Error; e = e.cause) {
    if ("code" in e && NEVER_CONNECTED.has(e.code)) return true;
  }
  return false;
}
