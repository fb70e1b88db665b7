import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addressGroup, parseAddressBlock } from "../model/options/networkAddress.js";
import { type ClientAddressOptions, createClientAddress } from "./clientAddress.js";

const TRUSTED = ["10.0.0.0/8", "192.0.2.7", "fd00::/8"];

/** The client's address of a request that came from `from` with the header. */
function addressOf(from: string | undefined, header?: string, options: Partial<ClientAddressOptions> = {}) {
  const { trustedProxies = TRUSTED, proxyHeader = "x-forwarded-for" } = options;
  const headers = header === undefined ? {} : { [proxyHeader]: header };
  return createClientAddress({ trustedProxies, proxyHeader })({ headers, socket: { remoteAddress: from } });
}

describe("the address of a client", () => {
  it("is the other end of the connection unless that is a trusted proxy", () => {
    expect(addressOf("203.0.113.9")).toBe("203.0.113.9");
    expect(addressOf("203.0.113.9", "198.51.100.1")).toBe("203.0.113.9");
    expect(addressOf("192.0.2.8", "198.51.100.1")).toBe("192.0.2.8");
    expect(addressOf("10.1.2.3", "198.51.100.1", { trustedProxies: [] })).toBe("10.1.2.3");
    expect(addressOf("::ffff:203.0.113.9")).toBe("203.0.113.9");
    expect(addressOf(undefined, "198.51.100.1")).toBe("unknown");
  });

  it("is the last address in the proxies' header that is no trusted proxy", () => {
    expect(addressOf("10.1.2.3", "198.51.100.1")).toBe("198.51.100.1");
    expect(addressOf("::ffff:10.1.2.3", "198.51.100.1")).toBe("198.51.100.1");
    expect(addressOf("10.1.2.3", "6.6.6.6, 198.51.100.1, 192.0.2.7,10.9.9.9")).toBe("198.51.100.1");
    expect(addressOf("fd00::1", "2001:db8::1")).toBe("2001:db8::1");
    expect(addressOf("10.1.2.3", "10.4.4.4, 10.5.5.5")).toBe("10.4.4.4");
    expect(addressOf("10.1.2.3")).toBe("10.1.2.3");
  });

  it("may stand with a port, or in brackets", () => {
    expect(addressOf("10.1.2.3", "198.51.100.1:4711")).toBe("198.51.100.1");
    expect(addressOf("10.1.2.3", "[2001:db8::1]:4711")).toBe("2001:db8::1");
    expect(addressOf("10.1.2.3", "[::ffff:198.51.100.1]")).toBe("198.51.100.1");
  });

  it("is the proxy's where the proxy names no address", () => {
    for (const entry of [
      "unknown",
      "",
      "198.51.100.1,",
      "198.51.100.1, _hidden",
      "1.2.3",
      "x".repeat(9_000),
    ]) {
      expect(addressOf("10.1.2.3", entry)).toBe("10.1.2.3");
    }
    expect(addressOf("10.1.2.3", "198.51.100.1, garbage, 192.0.2.7")).toBe("192.0.2.7");
  });

  it("comes from the field Forwarded instead, on request", () => {
    const of = (field: string) => addressOf("10.1.2.3", field, { proxyHeader: "forwarded" });
    expect(of("for=198.51.100.1")).toBe("198.51.100.1");
    expect(of('for=6.6.6.6, proto=https;For="[2001:db8::1]:4711";by=10.0.0.1, for=10.0.0.2')).toBe(
      "2001:db8::1",
    );
    expect(of('for="6.6.6.6, for=198.51.100.1')).toBe("198.51.100.1");
    expect(of("by=10.0.0.1")).toBe("10.1.2.3");
    expect(of("for=unknown")).toBe("10.1.2.3");
  });

  it("is never one that the client put into what a proxy quotes", () => {
    const of = (field: string) => addressOf("10.1.2.3", field, { proxyHeader: "forwarded" });
    for (const host of ["a,for=6.6.6.6;b", "a;for=6.6.6.6;b", "for=6.6.6.6", 'a\\",for=6.6.6.6;b', ","]) {
      expect(of(`proto=http;host="${host}";by=10.0.0.1;for=198.51.100.1`)).toBe("198.51.100.1");
      expect(of(`for=198.51.100.1;host="${host}"`)).toBe("198.51.100.1");
      expect(of(`for=198.51.100.1;host="${host}\\\\", for=10.0.0.2;host="${host}"`)).toBe("198.51.100.1");
    }
  });

  it("never depends on the field that the proxies do not set", () => {
    const read = createClientAddress({ trustedProxies: TRUSTED, proxyHeader: "x-forwarded-for" });
    const headers = { forwarded: "for=6.6.6.6", "x-forwarded-for": "198.51.100.1" };
    expect(read({ headers, socket: { remoteAddress: "10.1.2.3" } })).toBe("198.51.100.1");
    expect(read({ headers: { forwarded: "for=6.6.6.6" }, socket: { remoteAddress: "10.1.2.3" } })).toBe(
      "10.1.2.3",
    );
  });

  it("never depends on the part of the header that the client sent", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), fc.boolean(), (sent, isForwarded) => {
        const proxyHeader = isForwarded ? "forwarded" : "x-forwarded-for";
        const appended = isForwarded ? "for=198.51.100.1" : "198.51.100.1";
        expect(addressOf("10.1.2.3", `${sent}, ${appended}`, { proxyHeader })).toBe("198.51.100.1");
      }),
    );
  });
});

describe("a group of addresses", () => {
  it("is one IPv4 address, or the 64 bits of an IPv6 network", () => {
    expect(addressGroup("198.51.100.1")).toBe("198.51.100.1");
    expect(addressGroup("2001:db8:0:1:2:3:4:5")).toBe("2001:db8:0:1::/64");
    expect(addressGroup("2001:db8::9")).toBe("2001:db8:0:0::/64");
    expect(addressGroup("2001:DB8:0:0:ffff::")).toBe("2001:db8:0:0::/64");
    expect(addressGroup("::1")).toBe("0:0:0:0::/64");
    expect(addressGroup("unknown")).toBe("unknown");
  });
});

describe("a block of addresses", () => {
  it("is an address, or an address and the length of its prefix", () => {
    expect(parseAddressBlock("10.0.0.0/8")).toEqual({ network: "10.0.0.0", prefix: 8, family: "ipv4" });
    expect(parseAddressBlock("::1")).toEqual({ network: "::1", prefix: 128, family: "ipv6" });
    for (const text of [
      "",
      "10.0.0",
      "10.0.0.0/33",
      "::/129",
      "10.0.0.0/",
      "proxy.example",
      "fe80::1%eth0",
    ]) {
      expect(parseAddressBlock(text)).toBeUndefined();
    }
  });
});
