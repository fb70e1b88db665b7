import { isIP } from "node:net";

/** The callers of a devnet besides those of its own machine. */
export interface AllowedCallers {
  /** Names that clients may call the devnet by, such as the name of its container. */
  readonly hosts: readonly string[];
  /** Origins whose pages may call it, such as `https://app.example.com`; `*` for every origin. */
  readonly origins: readonly string[];
}

/** The fields of a request by which a browser tells where it comes from and where it goes. */
export interface CallerFields {
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
}

/**
 * Keeps pages of other origins away. Anybody who reaches the devnet may set balances and stop its blocks, and a page in
 * the developer's browser reaches it. Browsers send the page's origin, except where a name of the page's own leads to
 * this machine (DNS rebinding): then that name is the host. Numeric addresses cannot be rebound.
 * @returns why the request is refused; undefined if it is not.
 */
export function callerRefusal({ host, origin }: CallerFields, allowed: AllowedCallers): string | undefined {
  if (host !== undefined && !isAllowedHost(hostnameOf(`http://${host}`), allowed.hosts)) {
    return `the host ${JSON.stringify(host)} is not this devnet; --allowed-hosts adds names`;
  }
  if (origin !== undefined && !isAllowedOrigin(origin, allowed.origins)) {
    return `pages of ${JSON.stringify(origin)} may not call this devnet; --allowed-origins adds origins`;
  }
  return undefined;
}

function isAllowedHost(hostname: string | undefined, hosts: readonly string[]): boolean {
  if (hostname === undefined) return false;
  return isLocal(hostname) || isIP(hostname.replace(/^\[|\]$/g, "")) !== 0 || hosts.includes(hostname);
}

function isAllowedOrigin(origin: string, origins: readonly string[]): boolean {
  if (origins.includes("*") || origins.includes(origin)) return true;
  const hostname = hostnameOf(origin);
  return hostname !== undefined && (isLocal(hostname) || /^127(?:\.\d+){3}$|^\[::1\]$/.test(hostname));
}

/** Names that end in `localhost` never leave the machine (RFC 6761). */
function isLocal(hostname: string): boolean {
  return /^(?:.+\.)?localhost$/.test(hostname);
}

function hostnameOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}
