// Evidence of what nodes have said of signed bytes, made from what was sent and received (D28).
import { describe, expect, it } from "vitest";
import { bytes } from "../../test/support/submissions.js";
import { beginSend, noteSigned, presenceOf } from "./evidence.js";
import { NodeRpcError, type RpcOutcome, RpcUnavailableError } from "./rpc/rpc.js";

const HASH = `0x${"ab".repeat(32)}`;
const wrapper = () => ({ wrapperRaw: bytes(100, 1), wrapperHash: bytes(32, 0xab) });

/** The evidence of an outcome after so many requests, for bytes that were just signed unless told otherwise. */
function answerTo(outcome: RpcOutcome, { requests = 1, sent = wrapper(), isNew = true } = {}) {
  if (isNew) noteSigned(sent);
  const [answer] = beginSend([sent])([{ ...outcome, requests }]);
  if (answer === undefined) throw new Error("no answer");
  return answer;
}
const verdictOn = (outcome: RpcOutcome) => answerTo(outcome).verdict;
const verdictKind = (message: string, data?: unknown) =>
  verdictOn({ error: new NodeRpcError(-32_000, message, data) }).kind;

describe("the verdict on a send", () => {
  it("is accepted for the wrapper's own hash, in any case", () => {
    expect(verdictOn({ result: HASH })).toEqual({ kind: "accepted" });
    expect(verdictOn({ result: HASH.toUpperCase().replace("X", "x") })).toEqual({ kind: "accepted" });
  });

  it.each([null, "", {}, false, true, "0x12", `0x${"cd".repeat(32)}`, [HASH]])(
    "is unclear for the result %j, which is no answer",
    (result) => {
      expect(verdictOn({ result }).kind).toBe("disputed");
    },
  );

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
    const refusal = (reason: string) => verdictOn({ error: new NodeRpcError(-32_000, "words", { reason }) });
    expect(refusal("NONCE_TOO_LOW")).toMatchObject({ kind: "inner too late" });
    expect(refusal("INSUFFICIENT_BALANCE")).toMatchObject({ reason: "INSUFFICIENT_BALANCE" });
    expect(refusal("TARGET_NOT_ALLOWED")).toMatchObject({ reason: "TARGET_NOT_ALLOWED" });
    expect(refusal("WRAPPER_GAS_LIMIT_TOO_LOW")).toMatchObject({ reason: "WRAPPER_GAS_LIMIT_TOO_LOW" });
    for (const reason of ["UNKNOWN_KEY", "DATA_TOO_LONG", "REVERTED"]) {
      expect(refusal(reason)).toMatchObject({ kind: "disputed" });
    }
  });

  it("ignores an unknown reason", () => {
    expect(verdictKind("already known", { reason: "FULL_MOON" })).toBe("already known");
    expect(verdictKind("hm", { reason: "toString" })).toBe("disputed");
    expect(verdictKind("hm", "0x")).toBe("disputed");
  });

  it("without an answer is ambiguous, and disputed where the node answers others", () => {
    const unavailable = (sent: "no" | "unknown", isOfCall = false) =>
      answerTo({ error: new RpcUnavailableError("already known", sent, { isOfCall }) });
    expect(unavailable("unknown")).toMatchObject({ verdict: { kind: "ambiguous" }, isAnswered: false });
    expect(unavailable("no")).toMatchObject({ verdict: { kind: "ambiguous" }, isAnswered: false });
    expect(unavailable("unknown", true)).toMatchObject({ verdict: { kind: "disputed" }, isAnswered: false });
    expect(answerTo({ result: null })).toMatchObject({ verdict: { kind: "disputed" }, isAnswered: true });
  });
});

describe("an answer", () => {
  const REFUSAL = { error: new NodeRpcError(-32_000, "intrinsic gas too low") };

  it("is that to the only delivery where one request ever carried bytes that were signed here", () => {
    expect(answerTo(REFUSAL)).toMatchObject({ verdict: { kind: "refused" }, delivery: "only" });
    expect(answerTo(REFUSAL, { requests: 2 }).delivery).toBe("repeated");
    expect(answerTo(REFUSAL, { isNew: false }).delivery).toBe("repeated");
  });

  it("is that to a repeated one when the bytes were sent before, unless no request met a connection", () => {
    const refused = { error: new RpcUnavailableError("ECONNREFUSED", "no") };
    const sent = wrapper();
    expect(answerTo(refused, { sent, requests: 0 }).delivery).toBe("repeated");
    expect(answerTo(REFUSAL, { sent, isNew: false }).delivery).toBe("only");
    expect(answerTo(REFUSAL, { sent, isNew: false }).delivery).toBe("repeated");
  });

  it("does not count for the same bytes from the store, which another process may have sent", () => {
    const sent = wrapper();
    noteSigned(sent);
    expect(answerTo(REFUSAL, { sent: wrapper(), isNew: false }).delivery).toBe("repeated");
  });
});

describe("a look-up", () => {
  it.each([
    [{ result: { hash: HASH, blockNumber: null } }, "shown"],
    [{ result: null }, "absent"],
    [{ result: { hash: `0x${"cd".repeat(32)}` } }, "unclear"],
    [{ result: {} }, "unclear"],
    [{ result: "0x" }, "unclear"],
    [{ error: new NodeRpcError(-32_000, "transaction indexing is in progress") }, "unclear"],
  ] satisfies [RpcOutcome, string][])("by %j shows the wrapper as %s", (outcome, is) => {
    expect(presenceOf(outcome, bytes(32, 0xab))).toEqual({ is });
  });
});
