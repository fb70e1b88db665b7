import type { IncomingMessage } from "node:http";
import { ProtocolError } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { authenticatorOf, noFailures } from "../../test/support/callers.js";
import { partyOfRequest } from "./authenticator.js";
import { connectionAddress } from "./clientAddress.js";
import { UNKNOWN_KEY_LIMITS } from "./limits/failedAuthentications.js";

const KEYS = ["gw_test_a_first-secret", "gw_test_b_other-secret"] as const;
const authenticator = authenticatorOf(KEYS);
const requestOf = (authorization: string | undefined, remoteAddress = "192.0.2.1") =>
  ({ headers: { authorization }, socket: { remoteAddress } }) as unknown as IncomingMessage;
const authenticate = (authorization: string | undefined) =>
  authenticator.authenticate(requestOf(authorization)).caller;

function refusal(authorization: string | undefined): ProtocolError {
  try {
    authenticate(authorization);
  } catch (error) {
    if (error instanceof ProtocolError) return error;
  }
  throw new Error("it was accepted");
}

describe("the authenticator: a caller", () => {
  it.each(["bearer", "BEARER", "Bearer  "])("may write the scheme as %j (RFC 9110)", (scheme) => {
    expect(authenticate(`${scheme} ${KEYS[0]}`)).toEqual(authenticate(`Bearer ${KEYS[0]}`));
  });

  it.each([undefined, "", "Bearer", "Bearer ", `Basic ${KEYS[0]}`, KEYS[0], `Bearer ${KEYS[0]} ${KEYS[1]}`])(
    "is refused with MISSING_KEY for the header %j",
    (authorization) => {
      expect(refusal(authorization)).toMatchObject({ code: "UNAUTHORIZED", reason: "MISSING_KEY" });
    },
  );

  it.each([KEYS[0].slice(0, -1), `${KEYS[0]}x`, KEYS[0].toUpperCase(), "x".repeat(10_000)])(
    "is refused with UNKNOWN_KEY for another key, and the message does not repeat the key",
    (key) => {
      const error = refusal(`Bearer ${key}`);
      expect(error).toMatchObject({ code: "UNAUTHORIZED", reason: "UNKNOWN_KEY" });
      expect(error.message).not.toContain(key);
    },
  );
});

describe("the authenticator: an address that shows unknown keys", () => {
  /** An authenticator by a clock of the test, and a function that shows it a key and returns the reason of a refusal. */
  function guesser() {
    let now = 0;
    const failures = noFailures(() => now);
    const guarded = authenticatorOf(KEYS, failures);
    const show = (key: string, address?: string): string => {
      const request = requestOf(`Bearer ${key}`, address);
      partyOfRequest(request, { authenticator: guarded, clientAddress: connectionAddress, failures });
      try {
        return guarded.authenticate(request).caller.keyId;
      } catch (error) {
        return (error as ProtocolError).reason;
      }
    };
    const guess = (count: number, address?: string) => {
      for (let i = 0; i < count; i++) show(`guess ${i}`.replace(" ", "-"), address);
    };
    const pass = (ms: number) => {
      now += ms;
    };
    return { show, guess, failures, pass };
  }

  it("is refused without a look at its key, a good one too, and may try one key a second", () => {
    const { show, guess, pass } = guesser();
    guess(UNKNOWN_KEY_LIMITS.rateBurst);
    expect(show("one-more")).toBe("TOO_MANY_UNKNOWN_KEYS");
    expect(show(KEYS[0])).toBe("TOO_MANY_UNKNOWN_KEYS");
    guess(1_000);
    pass(1_000);
    expect(show(KEYS[0])).toBe("key 0");
    expect(show("again")).toBe("TOO_MANY_UNKNOWN_KEYS");
  });

  it("keeps the keys that it has used before, and the keys of the store", () => {
    const { show, guess } = guesser();
    expect(show(KEYS[0])).toBe("key 0");
    guess(UNKNOWN_KEY_LIMITS.rateBurst);
    expect([show(KEYS[0]), show(KEYS[1])]).toEqual(["key 0", "TOO_MANY_UNKNOWN_KEYS"]);
    expect(show(`gw_live_${"0".repeat(16)}_${"0".repeat(48)}`)).toBe("UNKNOWN_KEY");
  });

  it("does not slow down other addresses, but all of its network of IPv6", () => {
    const { show, guess } = guesser();
    guess(UNKNOWN_KEY_LIMITS.rateBurst);
    expect(show(KEYS[0], "192.0.2.2")).toBe("key 0");
    for (let i = 0; i < UNKNOWN_KEY_LIMITS.rateBurst; i++) guess(1, `2001:db8::${i.toString(16)}`);
    expect(show(KEYS[0], "2001:db8::ffff")).toBe("TOO_MANY_UNKNOWN_KEYS");
    expect(show(KEYS[0], "2001:db8:0:1::")).toBe("key 0");
  });

  it("is remembered with bounded memory: a flood from many addresses forgets the oldest", () => {
    const { show, guess, failures } = guesser();
    guess(UNKNOWN_KEY_LIMITS.rateBurst);
    for (let i = 0; i < 10_001; i++) guess(1, `10.0.${i >> 8}.${i & 255}`);
    expect(show(KEYS[0])).toBe("key 0");
    const counts = failures.takeCounts();
    expect(counts.length).toBeLessThanOrEqual(10_001);
    expect(counts.reduce((sum, { count }) => sum + count, 0)).toBe(UNKNOWN_KEY_LIMITS.rateBurst + 10_001);
    expect(failures.takeCounts()).toEqual([]);
  });
});
