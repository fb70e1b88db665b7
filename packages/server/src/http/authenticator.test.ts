import { ProtocolError } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { LIMITS, NO_KEYS } from "../../test/support/callers.js";
import { createAuthenticator } from "./authenticator.js";

const KEYS = ["gw_test_a_first-secret", "gw_test_b_other-secret"] as const;
const authenticator = createAuthenticator(KEYS, LIMITS, NO_KEYS);
const authenticate = (authorization: string | undefined) => authenticator.authenticate(authorization).caller;

function refusal(authorization: string | undefined): ProtocolError {
  try {
    authenticate(authorization);
  } catch (error) {
    if (error instanceof ProtocolError) return error;
  }
  throw new Error("it was accepted");
}

describe("the authenticator: a caller", () => {
  it("has an id that depends on the key alone and reveals nothing of it", () => {
    const [first, other] = KEYS.map((key) => authenticate(`Bearer ${key}`).keyId);
    expect(first).not.toBe(other);
    expect(first).toBe(
      createAuthenticator([KEYS[0]], LIMITS, NO_KEYS).authenticate(`Bearer ${KEYS[0]}`).caller.keyId,
    );
    for (const part of ["gw_test", "secret", "first"]) expect(first).not.toContain(part);
  });

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
