import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";
import { parseAddressBlock, plainAddress } from "../model/options/networkAddress.js";
import type { ResolvedOptions } from "../model/options/options.js";

export type ClientAddressOptions = Pick<ResolvedOptions, "trustedProxies" | "proxyHeader">;

/** The part of a request that its client's address follows from. */
export type AddressedRequest = Pick<IncomingMessage, "headers"> & {
  readonly socket: Pick<IncomingMessage["socket"], "remoteAddress">;
};

/** Finds the address of the client that made a request. */
export type ClientAddress = (request: AddressedRequest) => string;

/** Names a connection that has ended before anybody asked, or that came by a Unix socket. */
const UNKNOWN = "unknown";

/** @returns the address at the other end of the connection, which may be a proxy. */
export function connectionAddress({ socket }: Pick<AddressedRequest, "socket">): string {
  return plainAddress(socket.remoteAddress ?? UNKNOWN);
}

/**
 * Makes the function that finds the client of a request. Without trusted proxies that is the other end of the connection.
 * Behind them it is the last address in their header that is no trusted proxy: each proxy appends the address that it got
 * the request from, and what stands before that may come from the client. An entry that is no address ends the search at
 * the proxy that named it.
 */
export function createClientAddress({ trustedProxies, proxyHeader }: ClientAddressOptions): ClientAddress {
  const isTrusted = trustedAddresses(trustedProxies);
  return ({ headers, socket }) => {
    let address = connectionAddress({ socket });
    if (!isTrusted(address)) return address;
    const field = headers[proxyHeader];
    const entries = typeof field === "string" ? field : "";
    const isForwarded = proxyHeader === "forwarded";
    // Entries are read from the end, so that a long field costs no more than the trusted proxies in it.
    for (let end = entries.length; end > 0; ) {
      const comma = isForwarded ? lastUnquoted(",", entries, end) : entries.lastIndexOf(",", end - 1);
      const entry = entries.slice(comma + 1, end).trim();
      const named = addressIn(isForwarded ? forwardedFor(entry) : entry);
      if (named === undefined) return address;
      address = named;
      if (!isTrusted(address)) return address;
      end = comma;
    }
    return address;
  };
}

/** Makes the function that recognizes the addresses of these proxies. */
export function trustedAddresses(trustedProxies: readonly string[]): (address: string) => boolean {
  if (trustedProxies.length === 0) return () => false;
  const list = new BlockList();
  for (const text of trustedProxies) {
    const block = parseAddressBlock(text);
    if (block) list.addSubnet(block.network, block.prefix, block.family);
  }
  return (address) => {
    const version = isIP(address);
    return version !== 0 && list.check(address, version === 6 ? "ipv6" : "ipv4");
  };
}

/** Reads the `for` of one element of the field `Forwarded` (RFC 7239), without its quotes. */
function forwardedFor(element: string): string {
  for (let end = element.length; end > 0; ) {
    const semicolon = lastUnquoted(";", element, end);
    const pair = element.slice(semicolon + 1, end);
    const equals = pair.indexOf("=");
    const name = pair.slice(0, Math.max(equals, 0)).trim();
    if (name.toLowerCase() === "for") return withoutQuotes(pair.slice(equals + 1).trim());
    end = semicolon;
  }
  return "";
}

/**
 * Finds the last separator before `end` that is not in quotes: a proxy may quote what the client named, such as its `host`.
 * The search begins behind what a proxy appended, so quotes that the client left open do not matter.
 * @returns -1 if there is none.
 */
function lastUnquoted(separator: string, text: string, end: number): number {
  let isQuoted = false;
  for (let i = end - 1; i >= 0; i--) {
    if (text[i] === '"' && !isEscaped(text, i)) isQuoted = !isQuoted;
    else if (text[i] === separator && !isQuoted) return i;
  }
  return -1;
}

/** @returns whether an odd number of backslashes stands before the character. */
function isEscaped(text: string, index: number): boolean {
  let first = index;
  while (text[first - 1] === "\\") first--;
  return (index - first) % 2 === 1;
}

function withoutQuotes(text: string): string {
  const isQuoted = text.length >= 2 && text.startsWith('"') && text.endsWith('"');
  return isQuoted ? text.slice(1, -1) : text;
}

/** Reads an address that may have a port, as in `192.0.2.1:80` or `[2001:db8::1]:80`. */
function addressIn(text: string): string | undefined {
  const [, bracketed] = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text) ?? [];
  const [, withPort] = /^([\d.]+):\d{1,5}$/.exec(text) ?? [];
  const address = plainAddress(bracketed ?? withPort ?? text);
  return isIP(address) === 0 ? undefined : address;
}
