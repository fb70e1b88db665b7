// The answers of nodes and proxies to a batch that is too large for them, cited from their own sources.
import { describe, expect, it } from "vitest";
import { answerOfFailure, type BatchFit, readBatchAnswer } from "./batchAnswer.js";
import { MAX_RESPONSE_BYTES, ResponseTooLargeError } from "./httpPoster.js";

/** The answer to three calls whose ids begin at 10. */
const answerTo3 = (body: unknown, status = 200) =>
  readBatchAnswer({ status, text: typeof body === "string" ? body : JSON.stringify(body) }, 10, 3);
const refusal = (code: number, message: string, id: number | null = null) => ({
  id,
  error: { code, message },
});
const result = (id: number) => ({ id, result: "0x1" });

const REFUSALS: readonly (readonly [string, unknown, number, BatchFit])[] = [
  ["geth (rpc/handler.go)", [refusal(-32_600, "batch too large", 10)], 200, "too many calls"],
  ["geth (rpc/http.go)", "content length too large (6000000>5242880)", 413, "too many bytes"],
  ["Erigon", refusal(-32_000, "batch limit 100 exceeded: 101"), 200, "too many calls"],
  [
    "Besu (RpcErrorType.java)",
    refusal(-32_005, "Number of requests exceeds max batch size"),
    400,
    "too many calls",
  ],
  ["Nethermind", refusal(-32_005, "Batch size limit exceeded"), 200, "too many calls"],
  ["jsonrpsee of reth", refusal(-32_010, "The batch request was too large"), 200, "too many calls"],
  ["jsonrpsee of reth", refusal(-32_007, "Request is too big"), 200, "too many bytes"],
  [
    "jsonrpsee of reth",
    refusal(-32_005, "Batched requests are not supported by this server"),
    200,
    "too many calls",
  ],
  ["CometBFT (rpc/jsonrpc/server)", [refusal(-32_600, "Invalid Request")], 200, "too many calls"],
  ["nginx", "<html>413 Request Entity Too Large</html>", 413, "too many bytes"],
  ["a gateway", "batch size exceeds 10", 400, "too many calls"],
  ["a gateway", { message: "Batch of more than 3 requests are not allowed" }, 413, "too many calls"],
  ["proxyd", refusal(-32_014, "too many RPC calls in batch request"), 200, "too many calls"],
  ["proxyd", refusal(-32_021, "request body too large"), 413, "too many bytes"],
  ["net/http (MaxBytesReader)", "http: request body too large", 400, "too many bytes"],
  ["body-parser", refusal(-32_600, "request entity too large", 10), 200, "too many bytes"],
];

describe("a batch that was refused for its size", () => {
  it.each(REFUSALS)("by %s with %j was not executed", (_, body, status, fit) => {
    const answer = answerTo3(body, status);
    expect(answer.fit).toBe(fit);
    expect(answer.outcomes).toMatchObject(Array(3).fill({ error: { sent: "no" } }));
  });
});

describe("a batch whose calls may have been made", () => {
  it("is cut short when calls have no answer", () => {
    const { fit, outcomes } = answerTo3([result(12), result(10)]);
    expect(fit).toBe("cut short");
    expect(outcomes).toMatchObject([{ result: "0x1" }, { error: { sent: "unknown" } }, { result: "0x1" }]);
  });

  it.each([
    ["response too large", -32_003],
    ["request timed out", -32_002],
    ["MaxBatchResponseBodySize of 32768 exceeded", -32_005],
  ])("is cut short by %j", (message, code) => {
    const { fit, outcomes } = answerTo3([result(10), refusal(code, message, 11), refusal(code, message, 12)]);
    expect(fit).toBe("cut short");
    expect(outcomes).toMatchObject([{ result: "0x1" }, { error: { code } }, { error: { code } }]);
  });

  it("is cut short by an answer longer than we read", () => {
    const { fit, outcomes } = answerOfFailure(new ResponseTooLargeError(MAX_RESPONSE_BYTES), 2);
    expect(fit).toBe("cut short");
    const message = `the node gave no answer: the answer has more than ${MAX_RESPONSE_BYTES} bytes`;
    expect(outcomes).toMatchObject(Array(2).fill({ error: { message, sent: "unknown" } }));
  });

  it.each([
    ["an answer that is not JSON", "<html>", 200],
    ["an answer that was cut", '[{"id":10,"result":"0x1"},{"id":', 200],
    ["a gateway's time-out", "504 Gateway Time-out", 504],
    ["answers to other calls", [result(1), result(2)], 200],
  ])("is unclear after %s", (_, body, status) => {
    const { fit, outcomes } = answerTo3(body, status);
    expect(fit).toBe("unclear");
    expect(outcomes).toMatchObject(Array(3).fill({ error: { sent: "unknown" } }));
  });

  it("is not taken for refused when its answer was too large: jsonrpsee has made the calls", () => {
    const { fit } = answerTo3(refusal(-32_011, "The batch response was too large"));
    expect(fit).toBe("nothing");
  });
});

describe("any other answer", () => {
  it("says nothing of the size when a rate was exceeded", () => {
    expect(answerTo3(refusal(-32_005, "batch limit exceeded"), 429).fit).toBe("nothing");
  });

  it("fits with an answer to each call, errors included", () => {
    const { fit } = answerTo3([result(10), refusal(-32_000, "already known", 11), result(12)]);
    expect(fit).toBe("fits");
  });

  it("is the call's own where the request had one call", () => {
    const text = JSON.stringify(refusal(-32_600, "batch too large", 10));
    const { fit, outcomes } = readBatchAnswer({ status: 200, text }, 10, 1);
    expect(fit).toBe("fits");
    expect(outcomes).toMatchObject([{ error: { code: -32_600 } }]);
  });
});
