import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";
import { parseAddressBlock, plainAddress } from "../model/networkAddress.js";
import type { ResolvedOptions } from "../model/options.js";

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
    // Entries are read from the end, so that a long field costs no more than the trusted proxies in it.
    for (let end = entries.length; end > 0; ) {
      const comma = entries.lastIndexOf(",", end - 1);
      const entry = entries.slice(comma + 1, end).trim();
      const named = addressIn(proxyHeader === "forwarded" ? forwardedFor(entry) : entry);
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
  for (const pair of element.split(";")) {
    const equals = pair.indexOf("=");
    const name = pair.slice(0, Math.max(equals, 0)).trim();
    if (name.toLowerCase() === "for") return withoutQuotes(pair.slice(equals + 1).trim());
  }
  return "";
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
