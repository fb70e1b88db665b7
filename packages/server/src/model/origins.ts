import { isIP } from "node:net";

/** Stands for every origin in a list of origins. */
export const ANY_ORIGIN = "*";
/** Stands for every origin on the browser's own machine. */
const LOOPBACK_ORIGINS = "loopback";

/** @returns whether the list lets pages of this origin call the service. */
export function isAllowedOrigin(origin: string, allowed: readonly string[]): boolean {
  return allowed.some(
    (entry) => entry === ANY_ORIGIN || entry === origin || (entry === LOOPBACK_ORIGINS && isLoopback(origin)),
  );
}

/** @returns whether the list lets clients call the service by this `Host`. Numeric addresses cannot be rebound. */
export function isAllowedHost(host: string | undefined, allowed: readonly string[] | undefined): boolean {
  if (allowed === undefined || host === undefined) return true;
  const url = `http://${host}`;
  if (!URL.canParse(url)) return false;
  const { hostname } = new URL(url);
  const isLocal = isLoopback(url) || isIP(hostname.replace(/^\[|\]$/g, "")) !== 0;
  return allowed.includes(hostname) || (isLocal && allowed.includes(LOOPBACK_ORIGINS));
}

/** @returns whether the origin is on the browser's own machine. `localhost` and the names under it never leave it (RFC 6761). */
function isLoopback(origin: string): boolean {
  if (!URL.canParse(origin)) return false;
  return /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/.test(new URL(origin).hostname);
}

/** @returns whether a list of origins may contain this entry. */
export function isOrigin(entry: string): boolean {
  if (entry === ANY_ORIGIN || entry === LOOPBACK_ORIGINS) return true;
  return /^https?:/.test(entry) && URL.canParse(entry) && new URL(entry).origin === entry;
}
