import { describe, expect, it } from "vitest";
import { meaningOf } from "./broadcast.js";
import { RpcError, RpcUnavailableError } from "./rpc.js";

const said = (message: string, data?: unknown) =>
  meaningOf({ error: new RpcError(-32_000, message, data) }).kind;

describe("what a node's answer to a broadcast means", () => {
  it("a result: the node has it", () => {
    expect(meaningOf({ result: "0x12" })).toEqual({ kind: "accepted" });
  });

  it.each([
    // The node has these bytes already: success.
    ["already known", "accepted"],
    ["AlreadyKnown", "accepted"],
    ["transaction already imported", "accepted"],
    ["known transaction: 0x12", "accepted"],
    ["tx already in mempool", "accepted"],
    ["tx already exists in cache", "accepted"],
    // Something else has the nonce, and a gas price of 0 replaces nothing.
    ["replacement transaction underpriced", "occupied"],
    ["ReplacementNotAllowed", "occupied"],
    // The chain has used the nonce.
    ["nonce too low: next nonce 5, tx nonce 4", "nonce too low"],
    ["OldNonce", "nonce too low"],
    ["invalid nonce; got 4, expected 5: invalid sequence", "nonce too low"],
    // A strict pool misses an earlier one.
    ["nonce too high", "nonce gap"],
    ["NonceGap, Future nonce", "nonce gap"],
    ["invalid nonce; got 6, expected 5: invalid sequence", "nonce gap"],
    ["invalid nonce; got 10, expected 9: invalid sequence", "nonce gap"],
    // Not taken, and may be later.
    ["txpool is full", "not now"],
    ["mempool is full: number of txs 5000", "not now"],
    ["request limit reached", "not now"],
    ["rate limit exceeded", "not now"],
    // Unknown: to be looked up.
    ["the moon is full", "disputed"],
    ["", "disputed"],
  ])("%j: %s", (message, kind) => {
    expect(said(message)).toBe(kind);
  });

  it.each([
    ["WRAPPER_NONCE_TOO_LOW", "nonce too low"],
    ["WRAPPER_NONCE_GAP", "nonce gap"],
    ["WAIVER_NOT_REGISTERED", "waiver unusable"],
    ["NONCE_GAP", "inner too early"],
    ["TARGET_NOT_ALLOWED", "refused"],
    ["NON_ZERO_GAS_PRICE", "refused"],
    ["WRAPPER_GAS_LIMIT_TOO_LOW", "refused"],
  ])("the reason %s, whatever the words: %s", (reason, kind) => {
    expect(said("nonce too low", { reason })).toBe(kind);
  });

  it("a refusal keeps its own name only where it says something of the user's account", () => {
    const refusal = (reason: string) => meaningOf({ error: new RpcError(-32_000, "words", { reason }) });
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
      meaningOf({ error: new RpcUnavailableError("already known", sent) }).kind;
    expect(unavailable("unknown")).toBe("ambiguous");
    expect(unavailable("no")).toBe("not now");
  });
});
