import { describe, expect, it } from "vitest";
import { classifySendOutcome } from "./classifySendOutcome.js";
import { RpcError, RpcUnavailableError } from "./rpc.js";

const said = (message: string, data?: unknown) =>
  classifySendOutcome({ error: new RpcError(-32_000, message, data) }).kind;

describe("what a node's answer to a broadcast means", () => {
  it("a result: the node has it", () => {
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
  ])("the reason %s, whatever the words: %s", (reason, kind) => {
    expect(said("nonce too low", { reason })).toBe(kind);
  });

  it("a refusal keeps its own name only where it says something of the user's account", () => {
    const refusal = (reason: string) =>
      classifySendOutcome({ error: new RpcError(-32_000, "words", { reason }) });
    expect(refusal("NONCE_TOO_LOW")).toMatchObject({ kind: "inner too late" });
    expect(refusal("INSUFFICIENT_BALANCE")).toMatchObject({ reason: "INSUFFICIENT_BALANCE" });
    expect(refusal("TARGET_NOT_ALLOWED")).toMatchObject({ reason: "NODE_REFUSED" });
  });

  it("a reason that nobody knows counts for nothing", () => {
    expect(said("already known", { reason: "FULL_MOON" })).toBe("accepted");
    expect(said("hm", { reason: "toString" })).toBe("disputed");
    expect(said("hm", "0x")).toBe("disputed");
  });

  it("no answer is ambiguous, unless it surely never arrived", () => {
    const unavailable = (sent: "no" | "unknown") =>
      classifySendOutcome({ error: new RpcUnavailableError("already known", sent) }).kind;
    expect(unavailable("unknown")).toBe("ambiguous");
    expect(unavailable("no")).toBe("not now");
  });
});
