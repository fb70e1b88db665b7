import type { ProtocolError } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { callerOf } from "../../test/support/callers.js";
import { parseTerms } from "../model/keyTerms.js";
import type { StoredKey } from "../store/apiKeys.js";
import { hashOfKey } from "./apiKey.js";
import { CachedKey } from "./cachedKey.js";

const at = (seconds: number) => new Date(1_800_000_000_000 + 1_000 * seconds);
const [OLD, NEW, NOBODYS] = ["old", "new", "nobody's"].map(hashOfKey) as [Buffer, Buffer, Buffer];

function keyWith(changes: Partial<StoredKey> = {}): StoredKey {
  return {
    id: "0123456789abcdef",
    env: "test",
    label: "a test's",
    hash: OLD,
    previous: undefined,
    createdAt: at(0),
    expiresAt: undefined,
    disabledAt: undefined,
    revokedAt: undefined,
    terms: parseTerms({}),
    notUnderstood: undefined,
    version: 1n,
    ...changes,
  };
}
const caller = callerOf("0123456789abcdef");
const held = (changes: Partial<StoredKey> = {}) => new CachedKey(keyWith(changes), caller);

function outcome(key: CachedKey, hash: Buffer, seconds: number): string {
  try {
    key.authenticate(hash, at(seconds));
    return "admitted";
  } catch (error) {
    return (error as ProtocolError).reason;
  }
}

describe("a key of the store", () => {
  it("lets in who has its secret, and nobody else", () => {
    expect(outcome(held(), OLD, 1)).toBe("admitted");
    expect(outcome(held(), NOBODYS, 1)).toBe("UNKNOWN_KEY");
  });

  it.each([
    ["KEY_EXPIRED", { expiresAt: at(10) }, 10],
    ["admitted", { expiresAt: at(10) }, 9.999],
    ["KEY_DISABLED", { disabledAt: at(5) }, 6],
    ["KEY_DISABLED", { notUnderstood: { terms: {}, why: "limits.new is nothing that can be set" } }, 6],
    ["KEY_REVOKED", { revokedAt: at(5), disabledAt: at(4), expiresAt: at(3) }, 6],
  ])("is %s with %j", (expected, changes, seconds) => {
    expect(outcome(held(changes), OLD, seconds)).toBe(expected);
    // Only to who has the secret is anything said of it.
    expect(outcome(held(changes), NOBODYS, seconds)).toBe("UNKNOWN_KEY");
  });

  it("takes both secrets during the overlap of a rotation, and then the new one alone", () => {
    const rotated = { hash: NEW, previous: { hash: OLD, until: at(100) } };
    expect([NEW, OLD].map((hash) => outcome(held(rotated), hash, 99.999))).toEqual(["admitted", "admitted"]);
    expect([NEW, OLD].map((hash) => outcome(held(rotated), hash, 100))).toEqual(["admitted", "KEY_EXPIRED"]);
  });
});

describe("what a key has let in", () => {
  const whyEnded = (signal: AbortSignal) => (signal.aborted ? (signal.reason as ProtocolError).reason : "no");

  it("sees the key's limits as they are now", () => {
    const key = held();
    const grant = key.authenticate(OLD, at(1));
    expect(key.authenticate(OLD, at(1))).toBe(grant);
    const changed = { ...caller, limits: { ...caller.limits, maxBatchSize: 1 } };
    key.update(keyWith({ version: 2n }), changed, at(2));
    expect(grant.caller).toBe(changed);
    expect(whyEnded(grant.signal)).toBe("no");
  });

  it.each([
    ["KEY_REVOKED", { revokedAt: at(2) }],
    ["KEY_DISABLED", { disabledAt: at(2) }],
    ["KEY_EXPIRED", { expiresAt: at(2) }],
    ["UNKNOWN_KEY", { hash: NEW }],
  ])("ends with %s by a change of the key", (reason, changes) => {
    const key = held();
    const grant = key.authenticate(OLD, at(1));
    key.update(keyWith(changes), caller, at(2));
    expect(whyEnded(grant.signal)).toBe(reason);
  });

  it("ends by itself when the key expires, or the overlap of its secret is over", () => {
    const key = held({ hash: NEW, previous: { hash: OLD, until: at(100) }, expiresAt: at(200) });
    const [before, after] = [key.authenticate(OLD, at(1)), key.authenticate(NEW, at(1))];
    key.endInvalidGrants(at(99));
    expect([before, after].map(({ signal }) => whyEnded(signal))).toEqual(["no", "no"]);
    key.endInvalidGrants(at(100));
    expect([before, after].map(({ signal }) => whyEnded(signal))).toEqual(["KEY_EXPIRED", "no"]);
    key.endInvalidGrants(at(200));
    expect(whyEnded(after.signal)).toBe("KEY_EXPIRED");
  });

  it("stays ended when the key is good again: who comes back gets a new grant", () => {
    const key = held();
    const grant = key.authenticate(OLD, at(1));
    key.update(keyWith({ disabledAt: at(2) }), caller, at(2));
    key.update(keyWith(), caller, at(3));
    expect(key.authenticate(OLD, at(3))).not.toBe(grant);
    expect(whyEnded(key.authenticate(OLD, at(3)).signal)).toBe("no");
  });
});
