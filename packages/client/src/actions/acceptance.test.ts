import { errorBodyOf, isReason, ProtocolError, statusOf } from "@gas-waiver/protocol";
import { refusalsOf } from "@gas-waiver/protocol/description";
import { describe, expect, it } from "vitest";
import { ConnectionFailedError, RequestRefusedError, StreamEndedError } from "../errors.js";
import { isSurelyNotAccepted } from "./acceptance.js";

describe("an error of a submit", () => {
  it("leaves acceptance open if the refusal is STORE_UNAVAILABLE or INTERNAL_ERROR, and no other", () => {
    const open = refusalsOf("submit").filter((reason) => {
      const refusal = new RequestRefusedError(
        statusOf(reason),
        errorBodyOf(new ProtocolError(reason, "")),
        undefined,
      );
      return !isSurelyNotAccepted(refusal);
    });
    expect(open.sort()).toEqual(["INTERNAL_ERROR", "STORE_UNAVAILABLE"]);
  });

  it("leaves acceptance open if the service failed for no reason that is known", () => {
    const unavailable = { code: "UNAVAILABLE", message: "" } as const;
    expect(isReason("NEWER_FAILURE")).toBe(false);
    for (const error of [unavailable, { ...unavailable, reason: "NEWER_FAILURE" }]) {
      expect(isSurelyNotAccepted(new RequestRefusedError(503, error, undefined))).toBe(false);
    }
    const refusal = { code: "INVALID_REQUEST", message: "", reason: "NEWER_RULE" } as const;
    expect(isSurelyNotAccepted(new RequestRefusedError(400, refusal, undefined))).toBe(true);
  });

  it("leaves acceptance open if the request was sent and not answered to the end", () => {
    expect(isSurelyNotAccepted(new ConnectionFailedError("http://service", "not_sent", undefined))).toBe(
      true,
    );
    expect(isSurelyNotAccepted(new ConnectionFailedError("http://service", "unknown", undefined))).toBe(
      false,
    );
    expect(isSurelyNotAccepted(new StreamEndedError([0]))).toBe(false);
    expect(isSurelyNotAccepted(new Error("aborted"))).toBe(false);
  });
});
