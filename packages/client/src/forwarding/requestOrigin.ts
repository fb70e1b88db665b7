import { ProtocolError } from "@gas-waiver/protocol";

/**
 * Asserts that no page of another site has made the request: it would send with the session of its visitor. Programs name no
 * origin and pass.
 * @param origins of other pages that may.
 * @throws ProtocolError `ORIGIN_NOT_ALLOWED`.
 */
export function assertOwnOrigin(request: Request, origins: readonly string[]): void {
  const { headers, url } = request;
  const origin = headers.get("origin");
  if (origin === null ? headers.get("sec-fetch-site") !== "cross-site" : origins.includes(origin)) return;
  const own = headers.get("host") ?? new URL(url).host;
  if (origin !== null && URL.canParse(origin) && new URL(origin).host === own) return;
  throw new ProtocolError("ORIGIN_NOT_ALLOWED", "a page of another origin made the request");
}
