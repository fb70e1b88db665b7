// The calls of a request that an answer answers. The answers of nodes and proxies are cited from their own sources.
import { describe, expect, it } from "vitest";
import { readAnswers, unanswered } from "./batchAnswer.js";

const IDS = [10, 11, 12];
const textOf = (body: unknown) => (typeof body === "string" ? body : JSON.stringify(body));
/** Reads the answer to three calls that change nothing. */
const answerTo3 = (body: unknown, status = 200) =>
  readAnswers({ status, text: textOf(body), requests: 1 }, IDS, false);
const answerToSend = (body: unknown, status = 200) =>
  readAnswers({ status, text: textOf(body), requests: 1 }, [10], true);
const refusal = (code: number, message: string, id: number | null = null) => ({
  id,
  error: { code, message },
});
const result = (id: number) => ({ id, result: "0x1" });

const REFUSALS: readonly (readonly [string, unknown, number])[] = [
  ["geth (rpc/handler.go)", [refusal(-32_600, "batch too large", 10)], 200],
  ["geth (rpc/http.go)", "content length too large (6000000>5242880)", 413],
  ["Erigon", refusal(-32_000, "batch limit 100 exceeded: 101"), 200],
  ["Besu (RpcErrorType.java)", refusal(-32_005, "Number of requests exceeds max batch size"), 400],
  ["Nethermind", refusal(-32_005, "Batch size limit exceeded"), 200],
  ["jsonrpsee of reth", refusal(-32_010, "The batch request was too large"), 200],
  ["jsonrpsee of reth", refusal(-32_007, "Request is too big"), 200],
  ["jsonrpsee of reth", refusal(-32_011, "The batch response was too large"), 200],
  ["jsonrpsee of reth", refusal(-32_005, "Batched requests are not supported by this server"), 200],
  ["CometBFT (rpc/jsonrpc/server)", [refusal(-32_600, "Invalid Request")], 200],
  ["nginx", "<html>413 Request Entity Too Large</html>", 413],
  ["a gateway", "batch size exceeds 10", 400],
  ["a gateway", { message: "Batch of more than 3 requests are not allowed" }, 413],
  ["proxyd", refusal(-32_014, "too many RPC calls in batch request"), 200],
  ["proxyd", refusal(-32_021, "request body too large"), 413],
  ["net/http (MaxBytesReader)", "http: request body too large", 400],
  ["body-parser", refusal(-32_600, "request entity too large", 10), 200],
  [
    "a provider's bill",
    IDS.map((id) => refusal(-32_000, "Insufficient balance: top up your account", id)),
    402,
  ],
  ["a rate limiter", IDS.map((id) => refusal(-32_005, "slow down", id)), 429],
];

describe("an answer to a whole request", () => {
  it.each(REFUSALS)("by %s with %j says nothing of its calls, whatever its words", (_, body, status) => {
    expect(answerTo3(body, status)).toEqual([undefined, undefined, undefined]);
  });

  it.each([
    ["an answer that is not JSON", "<html>", 200],
    ["an answer that was cut", '[{"id":10,"result":"0x1"},{"id":', 200],
    ["a gateway's time-out", "504 Gateway Time-out", 504],
    ["answers to other calls", [result(1), result(2)], 200],
    ["a list whose ids are moved by one", [result(11), result(12), result(13)], 200],
  ])("says nothing of them either when it is %s", (_, body, status) => {
    expect(answerTo3(body, status)).toEqual([undefined, undefined, undefined]);
  });

  it.each([
    [400, undefined],
    [402, 10],
    [500, 10],
    [200, null],
    [200, 7],
  ])("with the status %s and the id %s says nothing of a single send", (status, id) => {
    const error = { code: -32_000, message: "insufficient funds" };
    expect(answerToSend({ id, error }, status)).toEqual([undefined]);
  });

  it("names another place to ask for a limit of rate alone", () => {
    const sentBy = (status: number) => unanswered({ status, text: "", requests: 1 }).sent;
    expect([429, 413, 400, 403, 500].map(sentBy)).toEqual(["no", "unknown", "unknown", "unknown", "unknown"]);
  });
});

describe("an answer to calls", () => {
  it("answers each call with an error or a result of its own", () => {
    expect(answerTo3([result(10), refusal(-32_000, "already known", 11), result(12)])).toMatchObject([
      { result: "0x1" },
      { error: { code: -32_000, message: "already known" } },
      { result: "0x1" },
    ]);
  });

  it("may leave out some, or answer in another order", () => {
    expect(answerTo3([result(12), result(10)])).toEqual([{ result: "0x1" }, undefined, { result: "0x1" }]);
  });

  it("does not answer a call that it answers twice", () => {
    expect(answerTo3([result(10), result(11), result(12), refusal(-32_000, "no", 11)])).toEqual([
      { result: "0x1" },
      undefined,
      { result: "0x1" },
    ]);
  });

  it.each([
    ["response too large", -32_003],
    ["request timed out", -32_002],
    ["MaxBatchResponseBodySize of 32768 exceeded", -32_005],
  ])("is cut short by %j", (message, code) => {
    const cut = [result(10), refusal(code, message, 11), refusal(code, message, 12)];
    expect(answerTo3(cut)).toEqual([{ result: "0x1" }, undefined, undefined]);
  });

  it("is the call's own where the request had one call", () => {
    const outcomes = answerToSend(refusal(-32_600, "batch too large", 10));
    expect(outcomes).toMatchObject([{ error: { code: -32_600 } }]);
  });
});
