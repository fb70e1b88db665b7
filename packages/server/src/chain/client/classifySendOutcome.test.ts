import { describe, expect, it } from "vitest";
import { NodeRpcError, RpcUnavailableError } from "../rpc/rpc.js";
import { classifySendOutcome } from "./classifySendOutcome.js";

const verdictKind = (message: string, data?: unknown) =>
  classifySendOutcome({ error: new NodeRpcError(-32_000, message, data) }).kind;

describe("the verdict on a broadcast", () => {
  it("is accepted for a result", () => {
    expect(classifySendOutcome({ result: "0x12" })).toEqual({ kind: "accepted" });
  });

  it.each([
    ["WRAPPER_NONCE_TOO_LOW", "nonce too low"],
    ["WRAPPER_NONCE_GAP", "nonce gap"],
    ["WAIVER_NOT_REGISTERED", "waiver unusable"],
    ["NONCE_GAP", "inner too early"],
    ["NONCE_TOO_LOW", "inner too late"],
    ["INSUFFICIENT_BALANCE", "refused"],
    ["TARGET_NOT_ALLOWED", "refused"],
    ["NON_ZERO_GAS_PRICE", "refused"],
    ["WRAPPER_GAS_LIMIT_TOO_LOW", "refused"],
  ])("for the reason %s is %s, whatever the words", (reason, kind) => {
    expect(verdictKind("nonce too low", { reason })).toBe(kind);
  });

  it("keeps a validator's reason of a refusal, and no reason that validators cannot have", () => {
    const refusal = (reason: string) =>
      classifySendOutcome({ error: new NodeRpcError(-32_000, "words", { reason }) });
    expect(refusal("NONCE_TOO_LOW")).toMatchObject({ kind: "inner too late" });
    expect(refusal("INSUFFICIENT_BALANCE")).toMatchObject({ reason: "INSUFFICIENT_BALANCE" });
    expect(refusal("TARGET_NOT_ALLOWED")).toMatchObject({ reason: "TARGET_NOT_ALLOWED" });
    expect(refusal("WRAPPER_GAS_LIMIT_TOO_LOW")).toMatchObject({ reason: "WRAPPER_GAS_LIMIT_TOO_LOW" });
    for (const reason of ["UNKNOWN_KEY", "DATA_TOO_LONG", "REVERTED"]) {
      expect(refusal(reason)).toMatchObject({ kind: "disputed" });
    }
  });

  it("ignores an unknown reason", () => {
    expect(verdictKind("already known", { reason: "FULL_MOON" })).toBe("accepted");
    expect(verdictKind("hm", { reason: "toString" })).toBe("disputed");
    expect(verdictKind("hm", "0x")).toBe("disputed");
  });

  it("without an answer is ambiguous, unless the request surely never arrived", () => {
    const unavailable = (sent: "no" | "unknown") =>
      classifySendOutcome({ error: new RpcUnavailableError("already known", sent) }).kind;
    expect(unavailable("unknown")).toBe("ambiguous");
    expect(unavailable("no")).toBe("not now");
  });
});
