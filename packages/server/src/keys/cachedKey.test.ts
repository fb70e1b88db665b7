import type { ProtocolError } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { callerOf } from "../../test/support/callers.js";
import { parseTerms } from "../model/keys/keyTerms.js";
import type { StoredKey } from "../store/keys/apiKeys.js";
import { hashOfKey } from "./apiKey.js";
import { CachedKey } from "./cachedKey.js";

const at = (seconds: number) => new Date(1_800_000_000_000 + 1_000 * seconds);
const [OLD, NEW, WRONG] = ["old", "new", "wrong"].map(hashOfKey) as [Buffer, Buffer, Buffer];

function keyWith(changes: Partial<StoredKey> = {}): StoredKey {
  return {
    id: "0123456789abcdef",
    env: "test",
    label: "test key",
    isPublishable: false,
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
const cached = (changes: Partial<StoredKey> = {}) => new CachedKey(keyWith(changes), caller);

function outcome(key: CachedKey, hash: Buffer, seconds: number): string {
  try {
    key.authenticate(hash, at(seconds));
    return "accepted";
  } catch (error) {
    return (error as ProtocolError).reason;
  }
}

describe("a key of the store", () => {
  it("accepts its secret and no other", () => {
    expect(outcome(cached(), OLD, 1)).toBe("accepted");
    expect(outcome(cached(), WRONG, 1)).toBe("UNKNOWN_KEY");
  });

  it.each([
    ["KEY_EXPIRED", { expiresAt: at(10) }, 10],
    ["accepted", { expiresAt: at(10) }, 9.999],
    ["KEY_DISABLED", { disabledAt: at(5) }, 6],
    ["KEY_DISABLED", { notUnderstood: { terms: {}, why: "limits.new is not a known setting" } }, 6],
    ["KEY_REVOKED", { revokedAt: at(5), disabledAt: at(4), expiresAt: at(3) }, 6],
  ])("answers %s with %j", (expected, changes, seconds) => {
    expect(outcome(cached(changes), OLD, seconds)).toBe(expected);
    // Without the secret, a client does not learn the state of the key.
    expect(outcome(cached(changes), WRONG, seconds)).toBe("UNKNOWN_KEY");
  });

  it("accepts both secrets during the overlap of a rotation, and then only the new one", () => {
    const rotated = { hash: NEW, previous: { hash: OLD, until: at(100) } };
    expect([NEW, OLD].map((hash) => outcome(cached(rotated), hash, 99.999))).toEqual([
      "accepted",
      "accepted",
    ]);
    expect([NEW, OLD].map((hash) => outcome(cached(rotated), hash, 100))).toEqual([
      "accepted",
      "KEY_EXPIRED",
    ]);
  });
});

describe("a grant", () => {
  const whyEnded = (signal: AbortSignal) => (signal.aborted ? (signal.reason as ProtocolError).reason : "no");

  it("shows the key's limits as they are now", () => {
    const key = cached();
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
  ])("ends with %s when the key changes", (reason, changes) => {
    const key = cached();
    const grant = key.authenticate(OLD, at(1));
    key.update(keyWith(changes), caller, at(2));
    expect(whyEnded(grant.signal)).toBe(reason);
  });

  it("ends when the key expires, or the overlap of its secret is over", () => {
    const key = cached({ hash: NEW, previous: { hash: OLD, until: at(100) }, expiresAt: at(200) });
    const [before, after] = [key.authenticate(OLD, at(1)), key.authenticate(NEW, at(1))];
    key.endInvalidGrants(at(99));
    expect([before, after].map(({ signal }) => whyEnded(signal))).toEqual(["no", "no"]);
    key.endInvalidGrants(at(100));
    expect([before, after].map(({ signal }) => whyEnded(signal))).toEqual(["KEY_EXPIRED", "no"]);
    key.endInvalidGrants(at(200));
    expect(whyEnded(after.signal)).toBe("KEY_EXPIRED");
  });

  it("stays ended when the key is valid again, and a new request gets a new grant", () => {
    const key = cached();
    const grant = key.authenticate(OLD, at(1));
    key.update(keyWith({ disabledAt: at(2) }), caller, at(2));
    key.update(keyWith(), caller, at(3));
    expect(key.authenticate(OLD, at(3))).not.toBe(grant);
    expect(whyEnded(key.authenticate(OLD, at(3)).signal)).toBe("no");
  });
});
