/** In a list of origins: any. */
export const ANY_ORIGIN = "*";
/** In a list of origins: any on the browser's own machine. */
const LOOPBACK_ORIGINS = "loopback";

/** May a page of this origin call, by a list of them? */
export function isAllowedOrigin(origin: string, allowed: readonly string[]): boolean {
  return allowed.some(
    (one) => one === ANY_ORIGIN || one === origin || (one === LOOPBACK_ORIGINS && isLoopback(origin)),
  );
}

/** Is the page from the browser's own machine? Names that end in `localhost` never leave it (RFC 6761). */
function isLoopback(origin: string): boolean {
  if (!URL.canParse(origin)) return false;
  return /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/.test(new URL(origin).hostname);
}

/** Is this an entry of a list of origins? */
export function isOrigin(entry: string): boolean {
  if (entry === ANY_ORIGIN || entry === LOOPBACK_ORIGINS) return true;
  return /^https?:/.test(entry) && URL.canParse(entry) && new URL(entry).origin === entry;
}
