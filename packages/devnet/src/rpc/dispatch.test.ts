import { describe, expect, it } from "vitest";
import { addressOf, signInner, wrap } from "../../test/support/testNode.js";
import { useListeningDevnet } from "../../test/support/useTestNode.js";
import { createDevnet } from "../createDevnet.js";
import { TEST_TOKEN_ADDRESS } from "../presets/constants.js";

const JSON_TYPE = { "content-type": "application/json" };

describe("every request gets a JSON-RPC response", () => {
  const node = useListeningDevnet();

  async function post(body: string): Promise<unknown> {
    const response = await fetch(node.url, { method: "POST", headers: JSON_TYPE, body });
    expect(response.status).toBe(200);
    return response.json();
  }
  const ask = (method: unknown, params?: unknown) =>
    post(JSON.stringify({ jsonrpc: "2.0", id: 7, method, ...(params !== undefined && { params }) }));
  const error = (code: number, id: unknown = 7) => ({
    jsonrpc: "2.0",
    id,
    error: { code, message: expect.any(String) },
  });

  it("for malformed requests", async () => {
    expect(await post("{nope")).toMatchObject(error(-32700, null));
    expect(await post("")).toMatchObject(error(-32700, null));
    for (const body of ["1", "null", '"x"', "[]", "{}"])
      expect(await post(body)).toMatchObject(error(-32600, null));
    expect(await post("[1,{}]")).toMatchObject([error(-32600, null), error(-32600, null)]);
    expect(await post('{"id":{},"method":"eth_chainId"}')).toMatchObject(error(-32600, null));
    expect(await ask(5)).toMatchObject(error(-32600));
  });

  it("for unknown methods, names of the prototype included", async () => {
    for (const method of ["eth_nope", "constructor", "__proto__", ""]) {
      expect(await ask(method)).toMatchObject(error(-32601));
    }
  });

  it("for parameters of the wrong shape", async () => {
    const wrong: [string, unknown][] = [
      ["eth_chainId", "text"],
      ["eth_getBalance", []],
      ["eth_getBalance", [5]],
      ["eth_getBalance", ["0x12"]],
      ["eth_getBalance", ["0xzz00000000000000000000000000000000000000"]],
      ["eth_getBalance", [addressOf(0), "newest"]],
      ["eth_getBalance", [addressOf(0), {}]],
      ["eth_getBalance", [addressOf(0), 5]],
      ["eth_getStorageAt", [addressOf(0), "slot", "latest"]],
      ["eth_call", []],
      ["eth_call", ["0x"]],
      ["eth_call", [{ to: "0x1" }]],
      ["eth_call", [{ to: TEST_TOKEN_ADDRESS, data: "0x123" }]],
      ["eth_call", [{ data: "0x", input: "0x01" }]],
      ["eth_call", [{ to: TEST_TOKEN_ADDRESS, value: -1 }]],
      ["eth_call", [{ to: TEST_TOKEN_ADDRESS, accessList: [{}] }]],
      ["eth_estimateGas", [{ gas: `0x1${"0".repeat(64)}` }]],
      ["eth_getBlockByNumber", ["latest", "yes"]],
      ["eth_getBlockByHash", ["0x00", false]],
      ["eth_getTransactionReceipt", [null]],
      ["eth_getLogs", ["all"]],
      ["eth_getLogs", [{ topics: "0x" }]],
      ["eth_getLogs", [{ topics: [1] }]],
      ["eth_getLogs", [{ topics: [null, null, null, null, null] }]],
      ["eth_getLogs", [{ address: "0x00" }]],
      ["eth_getLogs", [{ blockHash: `0x${"00".repeat(32)}`, fromBlock: "0x0" }]],
      ["eth_feeHistory", ["many", "latest", []]],
      ["eth_feeHistory", [1, "latest", [101]]],
      ["eth_sendRawTransaction", []],
      ["eth_sendRawTransaction", ["f86c"]],
    ];
    for (const [method, params] of wrong) {
      expect(await ask(method, params), `${method} ${JSON.stringify(params)}`).toMatchObject(error(-32602));
    }
  });

  it("for bytes that are not a transaction", async () => {
    for (const raw of [
      "0x",
      "0x00",
      "0x80",
      "0xc0",
      "0x02c0",
      "0x04c0",
      "0x03",
      "0x04",
      "0xf8ff",
      `0x${"ff".repeat(50)}`,
    ]) {
      const answer = await ask("eth_sendRawTransaction", [raw]);
      expect(answer, raw).toMatchObject(error(-32000));
      expect((answer as { error: { data: unknown } }).error.data).toMatchObject({
        reason: expect.stringMatching(/^[A-Z_]+$/),
      });
    }
  });

  it("for lists as deep or as long as a transaction can be, and for longer ones", async () => {
    const deep = `0x04${"c1".repeat(1_000_000)}c0`;
    const long = `0x04fa0f4240${"01".repeat(1_000_000)}`;
    for (const raw of [deep, long, deep.replace("0x04", "0x")]) {
      expect(await ask("eth_sendRawTransaction", [raw])).toMatchObject(error(-32000));
    }
    expect(await ask("eth_sendRawTransaction", [`0x${"00".repeat(1_048_577)}`])).toMatchObject({
      error: { code: -32000, data: { reason: "TRANSACTION_TOO_LARGE" } },
    });
  });

  it("for nesting deeper than the stack, anywhere", async () => {
    const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
    expect(await post(deep)).toMatchObject([error(-32600, null)]);
    expect(await post("[".repeat(200_000))).toMatchObject(error(-32700, null));
    expect(await post(`{"id":7,"method":${deep}}`)).toMatchObject(error(-32600));
    expect(await post(`{"id":7,"method":"eth_chainId","params":{"a":${deep}}}`)).toMatchObject(error(-32602));
    for (const method of [
      "eth_call",
      "eth_getLogs",
      "eth_sendRawTransaction",
      "eth_getBlockByNumber",
      "evm_mine",
    ]) {
      expect(await post(`{"id":7,"method":"${method}","params":[${deep}]}`)).toMatchObject(error(-32602));
    }
    const object = `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`;
    expect(await post(`{"id":7,"method":"eth_estimateGas","params":[{"to":${object}}]}`)).toMatchObject(
      error(-32602),
    );
  });

  it("for batches and bodies above the limits, and for the next request", async () => {
    const one = '{"id":1,"method":"eth_chainId"}';
    const batch = (count: number) => `[${Array(count).fill(one).join(",")}]`;
    expect(await post(batch(5_001))).toMatchObject(error(-32600, null));
    expect(await post(batch(5_000))).toHaveLength(5_000);
    const response = await fetch(node.url, {
      method: "POST",
      headers: JSON_TYPE,
      body: " ".repeat(64 * 1024 * 1024 + 1),
    });
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject(error(-32600, null));
    expect(await ask("eth_chainId")).toMatchObject({ result: "0x899" });
  });

  it("for parameters of the wrong shape of methods for control, traces, filters and the pool", async () => {
    const wrong: [string, unknown][] = [
      ["anvil_setBalance", [addressOf(0), 5]],
      ["anvil_setBalance", ["0x1", "0x1"]],
      ["anvil_setNonce", [addressOf(0), `0x1${"0".repeat(16)}`]],
      ["anvil_setCode", [addressOf(0), "code"]],
      ["anvil_impersonateAccount", []],
      ["debug_traceCall", [{}, "latest", { tracer: "opTracer" }]],
      ["debug_traceTransaction", ["0x1", { tracer: "callTracer" }]],
      [
        "debug_traceTransaction",
        [`0x${"12".repeat(32)}`, { tracer: "callTracer", tracerConfig: { withLog: 1 } }],
      ],
      ["devnet_setPool", [["strict"]]],
      ["eth_feeHistory", [-1, "latest", []]],
      ["eth_feeHistory", [1, "latest", Array(101).fill(1)]],
      ["eth_getUncleByBlockNumberAndIndex", ["latest", "first"]],
      ["eth_newFilter", [{ topics: {} }]],
      ["eth_newFilter", []],
      ["eth_sendTransaction", [{}]],
      ["eth_sendTransaction", [{ from: addressOf(13), nonce: "next" }]],
      ["evm_increaseTime", [-5]],
      ["evm_increaseTime", [1.5]],
      ["evm_mine", [{ blocks: "many" }]],
      ["evm_revert", []],
      ["evm_setAutomine", ["yes"]],
      ["evm_setNextBlockTimestamp", ["tomorrow"]],
      ["txpool_contentFrom", []],
    ];
    for (const [method, params] of wrong) {
      expect(await ask(method, params), `${method} ${JSON.stringify(params)}`).toMatchObject(error(-32602));
    }
  });

  it("which is null for blocks and transactions that do not exist", async () => {
    const unknownHash = `0x${"12".repeat(32)}`;
    for (const [method, params] of [
      ["eth_getBlockByNumber", ["0xffff", false]],
      ["eth_getBlockByHash", [unknownHash, false]],
      ["eth_getTransactionByHash", [unknownHash]],
      ["eth_getTransactionReceipt", [unknownHash]],
      ["eth_getBlockReceipts", ["0xffff"]],
      ["eth_getUncleCountByBlockNumber", ["0xffff"]],
      ["eth_getUncleByBlockNumberAndIndex", ["latest", "0x0"]],
      ["eth_getTransactionByBlockNumberAndIndex", ["latest", "0x0"]],
      ["eth_getRawTransactionByHash", [unknownHash]],
    ] as const) {
      expect(await ask(method, params)).toEqual({ jsonrpc: "2.0", id: 7, result: null });
    }
  });

  it("in the order of its batch, unless it is a notification", async () => {
    const call = (id: unknown, method: string, params: unknown[] = []) => ({
      jsonrpc: "2.0",
      id,
      method,
      params,
    });
    const inners = [signInner(0), signInner(1)];
    const batch = [
      call("a", "eth_chainId"),
      call(2, "eth_nope"),
      { jsonrpc: "2.0", method: "eth_chainId" },
      ...inners.map((inner, i) =>
        call(10 + i, "eth_sendRawTransaction", [wrap(inner, { nonce: BigInt(i) })]),
      ),
    ];
    expect(await post(JSON.stringify(batch))).toMatchObject([
      { id: "a", result: "0x899" },
      { id: 2, error: { code: -32601 } },
      { id: 10, result: expect.stringMatching(/^0x/) },
      { id: 11, result: expect.stringMatching(/^0x/) },
    ]);
    // One block for the whole batch.
    expect(await ask("eth_blockNumber")).toMatchObject({ result: "0x1" });
    const silent = await fetch(node.url, {
      method: "POST",
      headers: JSON_TYPE,
      body: '{"jsonrpc":"2.0","method":"eth_chainId"}',
    });
    expect(silent.status).toBe(204);
  });

  it("for past states, with an error that names the kept states", async () => {
    const short = await createDevnet({ blockTimeMs: 0, historyBlocks: 1 });
    const balance = (tag: unknown) =>
      short.request({ method: "eth_getBalance", params: [addressOf(13), tag] });
    for (let i = 0; i < 3; i++) await short.mine();
    expect(await balance("0x2")).toBe("0x21e19e0c9bab2400000");
    await expect(balance("0x0")).rejects.toThrow("block 0 is too old, states are kept from block 2 to 3");
    await expect(balance("0x9")).rejects.toThrow("header not found");
    await short.close();
  });

  it("for a call that reverts, with the reason and the data", async () => {
    const transfer = `0xa9059cbb${addressOf(9).slice(2).padStart(64, "0")}${"f".repeat(64)}`;
    for (const method of ["eth_call", "eth_estimateGas"]) {
      expect(
        await ask(method, [{ from: addressOf(0), to: TEST_TOKEN_ADDRESS, data: transfer }]),
      ).toMatchObject({
        error: { code: 3, message: "execution reverted", data: expect.stringMatching(/^0x[0-9a-f]{8}/) },
      });
    }
  });

  it("for an estimate, which is the lowest sufficient gas limit", async () => {
    const data = `0xa9059cbb${addressOf(9).slice(2).padStart(64, "0")}${"1".padStart(64, "0")}`;
    const request = { from: addressOf(0), to: TEST_TOKEN_ADDRESS, data, gasPrice: "0x0" };
    const { result } = (await ask("eth_estimateGas", [request])) as { result: string };
    const exact = await ask("eth_estimateGas", [{ ...request, gas: result }]);
    expect(exact).toMatchObject({ result });
    const less = `0x${(BigInt(result) - 1n).toString(16)}`;
    expect(await ask("eth_estimateGas", [{ ...request, gas: less }])).toMatchObject({
      error: { code: -32000 },
    });
  });
});
