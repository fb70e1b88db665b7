// The same requests to the node and to the gateway have the same answers, but for the prices: for each method that the
// gateway knows, shaped as the tests of ethereum/execution-apis.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { createMethods } from "../packages/server/src/gateway/methods.js";
import { GatewaySocket } from "../packages/server/test/support/gatewayClient.js";
import { expectReadable } from "../packages/server/test/support/requiredFields.js";
import { root } from "./support/program.js";
import { registryService } from "./support/registryService.js";
import { account, CHAIN_ID, TOKEN, transferData, transferOf } from "./support/user.js";

const KEY = "gwp_test_conformance";
const started = registryService([10], { publicApiKeys: [KEY], gatewayLogBlocks: 1_000 });

const USER = account(0).address;
const UNKNOWN = `0x${"4e".repeat(20)}`;
const NO_HASH = `0x${"00".repeat(31)}01`;
const TRANSFER_TOPIC = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const FAR = "0xffffffff";

/** Values of the chain that requests name. */
interface Place {
  readonly height: string;
  readonly blockHash: string;
  readonly txHash: string;
}

type Params = readonly unknown[];

const TRANSFER = { from: USER, to: TOKEN, data: transferData(UNKNOWN, 1n) };
const TOO_MUCH = { ...TRANSFER, data: transferData(UNKNOWN, 2n ** 200n) };

/** The requests of each method. */
const REQUESTS: Readonly<Record<string, (place: Place) => readonly Params[]>> = {
  eth_blockNumber: () => [[]],
  eth_call: ({ height, blockHash }) => [
    [TRANSFER, "latest"],
    [TRANSFER],
    [{ ...TRANSFER, from: UNKNOWN }, "latest"],
    [{ ...TRANSFER, input: TRANSFER.data }, height],
    [TRANSFER, { blockHash }],
    [TRANSFER, { blockHash: NO_HASH }],
    [TRANSFER, FAR],
    [TOO_MUCH, "latest"],
    [TRANSFER, "latest", { [TOKEN]: { code: "0x60006000fd" } }],
    [{ to: UNKNOWN, data: "0x12" }, "latest"],
    [{ ...TRANSFER, gas: "0x5208" }, "latest"],
  ],
  eth_chainId: () => [[]],
  eth_createAccessList: () => [
    [TRANSFER, "latest"],
    [TOO_MUCH, "latest"],
  ],
  eth_estimateGas: ({ height }) => [
    [TRANSFER],
    [TRANSFER, "latest"],
    [TRANSFER, height],
    [TOO_MUCH],
    [{ from: USER, to: UNKNOWN }],
    [{ from: USER, to: UNKNOWN, value: "0x1" }],
  ],
  eth_feeHistory: ({ height }) => [
    ["0x2", "latest", [10, 90]],
    ["0x1", height],
    ["0x1", FAR, []],
  ],
  eth_getBalance: ({ height, blockHash }) => [
    [account(13).address, "latest"],
    [account(13).address],
    [UNKNOWN, height],
    [account(13).address, { blockHash }],
    [account(13).address, { blockHash: NO_HASH }],
    [account(13).address, FAR],
    ["0x12", "latest"],
    [],
  ],
  eth_getBlockByHash: ({ blockHash }) => [
    [blockHash, true],
    [blockHash, false],
    [NO_HASH, true],
    ["0x12", true],
  ],
  eth_getBlockByNumber: ({ height }) => [
    ["0x0", true],
    [height, true],
    ["latest", false],
    ["safe", false],
    ["finalized", false],
    [FAR, true],
    ["0x", true],
  ],
  eth_getBlockReceipts: ({ height, blockHash }) => [
    ["0x0"],
    [height],
    [blockHash],
    ["latest"],
    [FAR],
    [NO_HASH],
  ],
  eth_getBlockTransactionCountByHash: ({ blockHash }) => [[blockHash], [NO_HASH]],
  eth_getBlockTransactionCountByNumber: ({ height }) => [["0x0"], [height], ["latest"], [FAR]],
  eth_getCode: ({ height }) => [
    [TOKEN, "latest"],
    [TOKEN, height],
    [UNKNOWN, "latest"],
    [TOKEN, FAR],
  ],
  eth_getLogs: ({ height, blockHash }) => [
    [{ address: TOKEN, fromBlock: "0x0", toBlock: "latest" }],
    [{ address: [TOKEN, UNKNOWN], topics: [TRANSFER_TOPIC], fromBlock: "earliest", toBlock: height }],
    [{ topics: [null, [`0x${USER.slice(2).toLowerCase().padStart(64, "0")}`]], fromBlock: height }],
    [{ topics: [[TRANSFER_TOPIC, NO_HASH]], fromBlock: "0x0" }],
    [{ blockHash }],
    [{ blockHash, topics: [NO_HASH] }],
    [{ blockHash: NO_HASH }],
    [{}],
  ],
  eth_getProof: ({ height }) => [
    [TOKEN, ["0x0"], "latest"],
    [UNKNOWN, [], height],
    [TOKEN, [], FAR],
  ],
  eth_getStorageAt: ({ height }) => [
    [TOKEN, "0x0", "latest"],
    [TOKEN, NO_HASH, height],
    [UNKNOWN, "0x0", "latest"],
    [TOKEN, `0x1${NO_HASH.slice(2)}`, "latest"],
    [TOKEN, "0xasdf", "latest"],
  ],
  eth_getTransactionByBlockHashAndIndex: ({ blockHash }) => [
    [blockHash, "0x0"],
    [blockHash, "0xff"],
    [NO_HASH, "0x0"],
  ],
  eth_getTransactionByBlockNumberAndIndex: ({ height }) => [
    [height, "0x0"],
    [height, "0xff"],
    [FAR, "0x0"],
  ],
  eth_getTransactionByHash: ({ txHash }) => [[txHash], [NO_HASH]],
  eth_getTransactionCount: ({ height, blockHash }) => [
    [USER, "latest"],
    [USER, "pending"],
    [USER, height],
    [USER, "0x0"],
    [USER, { blockHash }],
    [UNKNOWN, "latest"],
    [UNKNOWN, "pending"],
    [USER, FAR],
  ],
  eth_getTransactionReceipt: ({ txHash }) => [[txHash], [NO_HASH]],
  eth_getUncleByBlockHashAndIndex: ({ blockHash }) => [[blockHash, "0x0"]],
  eth_getUncleByBlockNumberAndIndex: ({ height }) => [[height, "0x0"]],
  eth_getUncleCountByBlockHash: ({ blockHash }) => [[blockHash]],
  eth_getUncleCountByBlockNumber: ({ height }) => [[height]],
  eth_syncing: () => [[]],
  net_listening: () => [[]],
  net_version: () => [[]],
  web3_sha3: () => [["0x68656c6c6f"]],
};

interface RpcAnswer {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

const WITHOUT_PARAMETERS = { error: { code: -32_602 } };

/** Methods that the gateway answers by itself, with its answers to calls without parameters. Tests of the server have the others. */
const OWN: Readonly<Record<string, object>> = {
  eth_accounts: { result: [] },
  eth_gasPrice: { result: "0x0" },
  eth_getGaslessTransactionByHash: WITHOUT_PARAMETERS,
  eth_maxPriorityFeePerGas: { result: "0x0" },
  eth_sendRawTransaction: WITHOUT_PARAMETERS,
  eth_sendRawTransactionSync: WITHOUT_PARAMETERS,
  pm_getSubmission: WITHOUT_PARAMETERS,
  pm_health: { result: expect.any(Boolean) },
  pm_isSponsorable: WITHOUT_PARAMETERS,
  wallet_getCapabilities: { result: { [`0x${CHAIN_ID.toString(16)}`]: expect.any(Object) } },
  web3_clientVersion: { result: expect.stringMatching(/^gas-waiver\//) },
};

/** Requests that the gateway refuses by itself, as the node does, in words of its own. */
const REFUSED: Readonly<Record<string, (place: Place) => readonly Params[]>> = {
  eth_call: () => [[], ["0x", "latest"], [null, "latest"]],
  eth_estimateGas: () => [[], [7]],
  eth_getLogs: ({ blockHash }) => [[], [{ blockHash, fromBlock: "0x0" }], [{ fromBlock: "x" }]],
  eth_getTransactionByHash: () => [[], ["0x12"], [7]],
  eth_getTransactionCount: () => [
    ["0x12", "pending"],
    [null, "pending"],
  ],
  eth_sendRawTransaction: () => [[], [7]],
  eth_unknown: () => [[]],
};

let place: Place;
let urls: { readonly node: string; readonly gateway: string };

async function answerOf(url: string, method: string, params: Params): Promise<RpcAnswer> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const { result, error } = (await response.json()) as RpcAnswer;
  return error ? { error } : { result };
}

/** The node's answer as the gateway gives it: without a base fee, and with fees of 0. */
function withoutPrices(method: string, { result, error }: RpcAnswer): RpcAnswer {
  if (error) return { error };
  if (typeof result !== "object" || result === null) return { result };
  const fields = { ...(result as Record<string, unknown>) };
  if (method.startsWith("eth_getBlockBy")) delete fields.baseFeePerGas;
  if (method !== "eth_feeHistory") return { result: Array.isArray(result) ? result : fields };
  const zeros = (list: unknown): unknown => (Array.isArray(list) ? list.map(zeros) : "0x0");
  for (const field of ["baseFeePerGas", "reward"]) if (field in fields) fields[field] = zeros(fields[field]);
  return { result: fields };
}

beforeAll(async () => {
  const service = started();
  const { client, rpcUrl, url } = service;
  const raws = await Promise.all(
    [0, 1, 2].map((nonce) => account(0).signTransaction(transferOf(UNKNOWN, 1n, nonce))),
  );
  for await (const line of client.submit(raws, { wait: "included" }))
    expect(line).toMatchObject({ success: true });
  const paid = { from: account(13).address, to: UNKNOWN, value: "0x1", gas: "0x5208" };
  const txHash = await service.rpc<string>("eth_sendTransaction", paid);
  const receipt = await service.rpc<Record<string, string>>("eth_getTransactionReceipt", txHash);
  place = { height: receipt.blockNumber ?? "", blockHash: receipt.blockHash ?? "", txHash };
  urls = { node: rpcUrl, gateway: `${url}/rpc/${KEY}` };
});

describe("the gateway", () => {
  const methods = [...createMethods({ options: { chainId: CHAIN_ID } } as never).keys()].sort();

  it("has requests to compare for each of its methods, or an answer of its own", () => {
    expect([...Object.keys(REQUESTS), ...Object.keys(OWN)].sort()).toEqual(methods);
  });

  it("has each of its methods in the table of its guide", () => {
    const guide = readFileSync(join(root, "docs/guides/gateway.md"), "utf8");
    const [, table = ""] = /## What the gateway answers\n([^#]*)Every other method/.exec(guide) ?? [];
    expect((table.match(/(?<=`)\w+(?=`)/g) ?? []).sort()).toEqual(methods);
  });

  it.each(Object.keys(OWN))("answers %s by itself", async (method) => {
    expect(await answerOf(urls.gateway, method, [])).toMatchObject(OWN[method] ?? {});
  });

  it.each(Object.keys(REQUESTS))("answers %s as the node does, but for the prices", async (method) => {
    for (const params of REQUESTS[method]?.(place) ?? []) {
      const [ofNode, ofGateway] = await Promise.all([
        answerOf(urls.node, method, params),
        answerOf(urls.gateway, method, params),
      ]);
      expect.soft({ params, ...ofGateway }).toEqual({ params, ...withoutPrices(method, ofNode) });
    }
  });

  it.each(Object.keys(REFUSED))("refuses bad parameters of %s with the node's code", async (method) => {
    for (const params of REFUSED[method]?.(place) ?? []) {
      const [ofNode, ofGateway] = await Promise.all([
        answerOf(urls.node, method, params),
        answerOf(urls.gateway, method, params),
      ]);
      expect.soft({ params, code: ofGateway.error?.code }).toEqual({ params, code: ofNode.error?.code });
    }
  });

  it("answers and announces all that clients' libraries require", async () => {
    const ask = async (method: string, ...params: Params) =>
      (await answerOf(urls.gateway, method, params)).result as Record<string, unknown>;
    const socket = await GatewaySocket.open(urls.gateway.replace("http", "ws"));
    for (const kind of ["newHeads", "logs"]) await socket.call("eth_subscribe", kind);
    const fees = { type: 2, gasPrice: null, maxFeePerGas: 0, maxPriorityFeePerGas: 0 };
    const raw = await account(1).signTransaction(transferOf(UNKNOWN, 1n, 0, fees));
    const { result: hash } = await answerOf(urls.gateway, "eth_sendRawTransaction", [raw]);
    const [header, log] = [await socket.next(), await socket.next()].map(({ params }) => params.result);
    await socket.close();
    expectReadable("header", header);
    expectReadable("log", log);
    const receipt = await ask("eth_getTransactionReceipt", hash);
    expectReadable("receipt", receipt);
    expectReadable("log", (receipt.logs as readonly unknown[])[0]);
    expectReadable("typedTransaction", await ask("eth_getTransactionByHash", hash));
    const block = await ask("eth_getBlockByHash", receipt.blockHash, true);
    expectReadable("block", block);
    expectReadable("transaction", (block.transactions as readonly unknown[])[0]);
    expectReadable("feeHistory", await ask("eth_feeHistory", "0x4", "latest", [50]));
  });
});
