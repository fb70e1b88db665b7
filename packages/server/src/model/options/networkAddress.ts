import { isIP } from "node:net";

/** A network of addresses, or a single one. */
export interface AddressBlock {
  readonly network: string;
  readonly prefix: number;
  readonly family: "ipv4" | "ipv6";
}

/** Parses an address or a CIDR block, such as `10.0.0.0/8`. @returns undefined for another text. */
export function parseAddressBlock(text: string): AddressBlock | undefined {
  const [, network = "", length] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(network);
  if (version === 0 || network.includes("%")) return undefined;
  const longest = version === 6 ? 128 : 32;
  const prefix = length === undefined ? longest : Number(length);
  if (prefix > longest) return undefined;
  return { network, prefix, family: version === 6 ? "ipv6" : "ipv4" };
}

/** @returns whether only programs on the same machine can reach what listens on this address or name. */
export function isLoopbackHost(host: string): boolean {
  const address = plainAddress(host);
  return host === "localhost" || address === "::1" || (isIP(address) === 4 && address.startsWith("127."));
}

/**
 * Returns the addresses that one client can have at will, as one text: an IPv6 network of 64 bits, which is the least that
 * providers give to a customer, or a single IPv4 address. Limits count by it.
 */
export function addressGroup(address: string): string {
  return isIP(address) === 6 ? networkOf(address, 4) : address;
}

/**
 * Returns the IPv6 network of 48 bits of an address, which providers give to a site, and of which anybody can have one; undefined for
 * an IPv4 address. Its networks of 64 bits share some limits.
 */
export function addressSite(address: string): string | undefined {
  return isIP(address) === 6 ? networkOf(address, 3) : undefined;
}

/** The limits of one network of 64 bits that all of its network of 48 bits together may reach. */
export const SHARES_OF_SITE = 4;

/** Returns the network of this many groups of 16 bits. */
function networkOf(address: string, count: number): string {
  const [before = "", after] = address.split("::");
  const head = before === "" ? [] : before.split(":");
  const tail = after === undefined || after === "" ? [] : after.split(":");
  const zeros = after === undefined ? 0 : 8 - head.length - tail.length;
  const groups = [...head, ...new Array<string>(zeros).fill("0"), ...tail].slice(0, count);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(":")}::/${16 * count}`;
}

/**
 * Returns the IPv4 address of an IPv4-mapped IPv6 address (`::ffff:192.0.2.1`), by which a listener of both families names
 * an IPv4 client. Any other text is returned as it is.
 */
export function plainAddress(address: string): string {
  const [, ipv4] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? [];
  return ipv4 ?? address;
}
