// Requests that the service must refuse, over the public API. After each test a valid request succeeds.
import { createDevnet, type Devnet } from "@gas-waiver/devnet";
import {
  encodeRlp,
  type JsonRpcProvider,
  N,
  Signature,
  Transaction,
  type TransactionLike,
  toBeHex,
} from "ethers";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { useTestPostgres } from "../packages/server/test/support/testStore.js";
import type { CommandLine } from "./support/commandLine.js";
import { NodeProxy } from "./support/nodeProxy.js";
import { startService } from "./support/service.js";
import { post, type Request, submit } from "./support/submit.js";
import { account, connect, MARKER, token, transferOf } from "./support/user.js";

const SEND_METHOD = "eth_sendRawTransaction";

let devnet: Devnet;
let proxy: NodeProxy;
let chain: JsonRpcProvider;
const postgres = useTestPostgres();
const services: CommandLine[] = [];
/** The service, which waits as long as the machine needs, and a replica of it that soon gives up waiting. */
let url: string;
let impatientUrl: string;

beforeAll(async () => {
  devnet = await createDevnet({ blockTimeMs: 0 });
  const node = await devnet.listen({ port: 0 });
  proxy = await NodeProxy.inFrontOf(node.url);
  chain = connect(node.url);
  const databaseUrl = await postgres.createDatabase();
  const start = async (requestTimeoutMs: number) => {
    const rates = ["--rate", "10000", "--rate-burst", "10000"];
    const times = ["--nonce-gap-timeout", "200", "--request-timeout", String(requestTimeoutMs)];
    const service = startService({ rpcUrl: proxy.url, databaseUrl, flags: [...rates, ...times] });
    services.push(service);
    return (await service.ready()).url;
  };
  url = await start(300_000);
  impatientUrl = await start(1_000);
});
afterAll(async () => {
  chain?.destroy();
  await Promise.all(services.map((service) => service.end()));
  await proxy?.close();
  await devnet?.close();
});

const validSender = account(0);
const recipient = account(1).address;

afterEach(async () => {
  proxy.decide = () => "pass";
  const nonce = await chain.getTransactionCount(validSender.address);
  const signed = await validSender.signTransaction(transferOf(recipient, 1n, nonce));
  expect(await submit(url, [signed], { query: "?wait=included" })).toMatchObject([
    { index: 0, success: true },
  ]);
});

const anything = `0x${"00".repeat(10)}`;

describe("a request refused as a whole", () => {
  const body = JSON.stringify({ transactions: [anything] });
  it.each<[string, Request, number, string, string]>([
    ["malformed JSON", { body: '{"transactions":[' }, 400, "INVALID_REQUEST", "MALFORMED_JSON"],
    ["no body", { body: "" }, 400, "INVALID_REQUEST", "MALFORMED_JSON"],
    [
      "transactions that are not an array",
      { body: '{"transactions":"0x00"}' },
      400,
      "INVALID_REQUEST",
      "MALFORMED_BODY",
    ],
    ["no transactions", { body: "{}" }, 400, "INVALID_REQUEST", "MALFORMED_BODY"],
    ["an array as body", { body: "[]" }, 400, "INVALID_REQUEST", "MALFORMED_BODY"],
    ["an empty array", { body: '{"transactions":[]}' }, 400, "INVALID_REQUEST", "EMPTY_BATCH"],
    [
      "an array with a number",
      { body: '{"transactions":["0x00",7]}' },
      400,
      "INVALID_REQUEST",
      "MALFORMED_BODY",
    ],
    ["a wrong wait", { body, query: "?wait=long" }, 400, "INVALID_REQUEST", "MALFORMED_QUERY"],
    [
      "another content type",
      { body, headers: { "content-type": "text/plain" } },
      415,
      "INVALID_REQUEST",
      "UNSUPPORTED_MEDIA_TYPE",
    ],
    [
      "101 transactions",
      { body: JSON.stringify({ transactions: Array(101).fill(anything) }) },
      413,
      "BATCH_SIZE_EXCEEDED",
      "BATCH_TOO_LARGE",
    ],
    ["no key", { body, headers: { authorization: "" } }, 401, "UNAUTHORIZED", "MISSING_KEY"],
    [
      "another scheme",
      { body, headers: { authorization: "Basic Z3c6eA==" } },
      401,
      "UNAUTHORIZED",
      "MISSING_KEY",
    ],
    [
      "a wrong key",
      { body, headers: { authorization: "Bearer gw_dev_other" } },
      401,
      "UNAUTHORIZED",
      "UNKNOWN_KEY",
    ],
  ])("%s", async (_, request, status, code, reason) => {
    const response = await post(url, [], request);
    expect(response.status).toBe(status);
    expect(response.headers.get("www-authenticate")?.split(" ")[0]).toBe(
      status === 401 ? "Bearer" : undefined,
    );
    const answer = await response.json();
    const details = { retry: expect.stringMatching(/^(corrected|later|now)$/) };
    expect(answer).toMatchObject({ error: { code, reason, message: expect.stringMatching(/./), details } });
    expect(Object.keys(answer.error)).toEqual(["code", "message", "reason", "details"]);
  });

  it("a body of 40 MB", async () => {
    const response = await post(url, [], {
      body: JSON.stringify({ transactions: ["0x".padEnd(40e6, "0")] }),
    });
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({
      error: { code: "INVALID_REQUEST", reason: "BODY_TOO_LARGE" },
    });
  });

  it.each([
    ["GET", "/v1/nothing", 404, "NO_SUCH_PATH"],
    ["DELETE", "/v1/submit", 405, "NO_SUCH_METHOD"],
    ["POST", "/v1/health", 405, "NO_SUCH_METHOD"],
  ])("%s %s", async (method, path, status, reason) => {
    const response = await fetch(`${url}${path}`, { method });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { code: "NOT_FOUND", reason } });
  });
});

const user = account(2);
const sign = (overrides: TransactionLike) => user.signTransaction(transferOf(recipient, 1n, 0, overrides));

/** A transaction with the high-s form of its signature, which EIP-2 forbids. */
async function withHighS(): Promise<string> {
  const tx = Transaction.from(await sign({}));
  const { r, s, yParity } = tx.signature ?? Signature.from();
  const fields = [0, 0, 100_000].map((n) => (n === 0 ? "0x" : toBeHex(n)));
  const v = 35n + 2n * 2201n + BigInt(yParity === 0 ? 1 : 0);
  return encodeRlp([...fields, tx.to ?? "0x", "0x", tx.data, toBeHex(v), r, toBeHex(N - BigInt(s))]);
}

describe("a transaction that cannot be parsed", () => {
  it.each<[string, () => Promise<string> | string, string]>([
    ["hex of odd length", () => "0x123", "INVALID_HEX"],
    ["text that is not hex", () => "0xzz", "INVALID_HEX"],
    ["hex without 0x", () => "00", "INVALID_HEX"],
    ["an empty string", () => "", "EMPTY_TRANSACTION"],
    ["no bytes", () => "0x", "EMPTY_TRANSACTION"],
    ["truncated RLP", async () => (await sign({})).slice(0, -2), "MALFORMED_RLP"],
    ["padded RLP", async () => `${await sign({})}00`, "MALFORMED_RLP"],
  ])("%s", async (_, make, reason) => {
    const [line] = await submit(url, [await make()]);
    expect(line).toMatchObject({ index: 0, success: false, error: { code: "PARSE_ERROR", reason } });
  });
});

describe("a transaction that breaks a rule", () => {
  it.each<[string, () => Promise<string>, string]>([
    ["a wrong chain id", () => sign({ chainId: 988 }), "WRONG_CHAIN_ID"],
    ["a gas price of 1", () => sign({ gasPrice: 1 }), "NON_ZERO_GAS_PRICE"],
    [
      "a fee of 1",
      () => sign({ type: 2, gasPrice: null, maxFeePerGas: 1, maxPriorityFeePerGas: 0 }),
      "NON_ZERO_GAS_PRICE",
    ],
    ["a signature from before EIP-155", () => sign({ chainId: 0 }), "UNPROTECTED_SIGNATURE"],
    ["a high s", withHighS, "HIGH_S_SIGNATURE"],
    ["contract creation", () => sign({ to: null, data: "0x6000" }), "CONTRACT_CREATION"],
    ["a target outside the policy", () => sign({ to: recipient }), "TARGET_NOT_ALLOWED"],
    [
      "a selector outside the policy",
      () => sign({ data: token.encodeFunctionData("burn", [1]) }),
      "SELECTOR_NOT_ALLOWED",
    ],
    ["no selector at all", () => sign({ data: "0x" }), "SELECTOR_NOT_ALLOWED"],
    ["a wrapper as the InnerTx", async () => sign({ to: MARKER, data: await sign({}) }), "TARGET_IS_MARKER"],
    ["gas below its intrinsic gas", () => sign({ gasLimit: 21_500 }), "GAS_LIMIT_TOO_LOW"],
    ["gas above the limit", () => sign({ gasLimit: 10_000_001 }), "GAS_LIMIT_TOO_HIGH"],
    ["a nonce too far ahead", () => sign({ nonce: 5 }), "NONCE_GAP"],
    ["a value that the user does not have", () => sign({ value: 1 }), "INSUFFICIENT_BALANCE"],
  ])("%s", async (_, make, reason) => {
    const [line] = await submit(url, [await make()]);
    expect(line).toMatchObject({ index: 0, success: false, error: { code: "VALIDATION_FAILED", reason } });
    expect(await chain.getTransactionCount(user.address)).toBe(0);
  });

  it("a used nonce", async () => {
    const used = await validSender.signTransaction(transferOf(recipient, 2n, 0));
    const [line] = await submit(url, [used]);
    expect(line).toMatchObject({
      success: false,
      error: { code: "VALIDATION_FAILED", reason: "NONCE_TOO_LOW" },
    });
  });

  it("does not affect the valid ones of its batch", async () => {
    const other = account(3);
    const signed = await other.signTransaction(transferOf(recipient, 1n, 0));
    const lines = await submit(url, ["0x123", signed, await sign({ gasPrice: 1 })], {
      query: "?wait=included",
    });
    const byIndex = lines.sort((a, b) => a.index - b.index);
    expect(byIndex.map(({ success }) => success)).toEqual([false, true, false]);
  });
});

describe("a node", () => {
  it("that answers several times with an unknown error does not fail the transaction, which runs afterwards", async () => {
    const signed = await account(4).signTransaction(transferOf(recipient, 1n, 0));
    let errors = 0;
    proxy.decide = (call) => (call.includes(SEND_METHOD) && ++errors <= 3 ? refusalOf(call) : "pass");
    const [line] = await submit(url, [signed], { query: "?wait=included" });
    expect(line).toMatchObject({ success: true });
    expect(errors).toBeGreaterThan(3);
  });

  it("that goes away after the acceptance ends the waiting with TIMEOUT, and the submission goes on", async () => {
    const sender = account(5);
    const signed = await sender.signTransaction(transferOf(recipient, 1n, 0));
    proxy.decide = (call) => (call.includes(SEND_METHOD) ? "reset" : "pass");
    const [timedOut] = await submit(impatientUrl, [signed]);
    expect(timedOut).toMatchObject({ success: false, error: { code: "TIMEOUT" } });
    proxy.decide = () => "pass";
    const [resubmitted] = await submit(url, [signed], { query: "?wait=included" });
    expect(resubmitted).toMatchObject({ id: timedOut?.id, success: true });
    expect(await chain.getTransactionCount(sender.address)).toBe(1);
  });
});

/** The answer of a node that refuses every call of a batch, or the single call. */
function refusalOf(call: string): { status: number; body: string } {
  const refuse = ({ id }: { id: unknown }) => ({
    jsonrpc: "2.0",
    id,
    error: { code: -32000, message: "policy says no" },
  });
  const parsed: unknown = JSON.parse(call);
  const body = Array.isArray(parsed) ? parsed.map(refuse) : refuse(parsed as { id: unknown });
  return { status: 200, body: JSON.stringify(body) };
}
