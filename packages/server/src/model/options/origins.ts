import { isIP } from "node:net";

/** Stands for every origin in a list of origins. */
export const ANY_ORIGIN = "*";
/** Stands for every origin on the browser's own machine. */
export const LOOPBACK_ORIGINS = "loopback";
/** Stands, for a publishable key, for every client that is no page: programs, native wallets and browser extensions. */
export const WALLETS = "wallets";

/** @returns whether the list lets pages of this origin call the service. */
export function isAllowedOrigin(origin: string, allowed: readonly string[]): boolean {
  return allowed.some(
    (entry) => entry === ANY_ORIGIN || entry === origin || (entry === LOOPBACK_ORIGINS && isLoopback(origin)),
  );
}

/**
 * Tells whether a client may use a publishable key with these origins (D32). Browsers name the page in every POST and in
 * every handshake of a WebSocket, and no page can change that. Other programs name none, or any that they like.
 * @param origin the header field `Origin`; undefined if the request has none.
 */
export function isOriginOfKey(origin: string | undefined, allowed: readonly string[]): boolean {
  if (origin !== undefined && isAllowedOrigin(origin, allowed)) return true;
  return allowed.includes(WALLETS) && (origin === undefined || EXTENSION_ORIGIN.test(origin));
}

/** Extensions such as wallets have an origin of their own, which in some browsers differs with each installation. */
const EXTENSION_ORIGIN = /^(?:chrome|moz|safari-web)-extension:\/\/[\w-]+$/;

/** @returns whether the origins of a publishable key may contain this entry. */
export function isKeyOrigin(entry: string): boolean {
  return entry === WALLETS || isOrigin(entry);
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
