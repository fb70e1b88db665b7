// The gateway in front of a scripted node: JSON-RPC, the allow-list, submissions, and what wallets ask in between.
import { connect } from "node:net";
import { bytesToHex, crypto, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { GATEWAY_KEY, GatewayClient, GatewaySocket } from "../support/gatewayClient.js";
import { CHAIN_ID, RefusedByNode } from "../support/modelChain.js";
import { expectReadable } from "../support/requiredFields.js";
import { API_KEY, testServices } from "../support/testService.js";
import { innerOf, TOKEN, TRANSFER, userAddress } from "../support/user.js";

const services = testServices();
const publicApiKeys = [GATEWAY_KEY];
/** A busy machine takes its time. */
const PATIENT = { timeout: 60_000 };
const hashOf = (raw: Hex) => bytesToHex(crypto.keccak256(hexToBytes(raw)));

describe("JSON-RPC", () => {
  const service = services.shared({
    publicApiKeys,
    corsOrigins: ["https://app.example"],
    gatewayLogBlocks: 100,
  });
  const client = () => new GatewayClient(service().url);

  it.each([
    ["a body that is not JSON", "{", -32_700],
    ["a number", "1", -32_600],
    ["an empty batch", "[]", -32_600],
    [
      "a batch of 101 calls",
      JSON.stringify(Array(101).fill({ jsonrpc: "2.0", id: 1, method: "eth_chainId" })),
      -32_600,
    ],
    ["a request without a version", '{"id":1,"method":"eth_chainId"}', -32_600],
    ["a method that is no string", '{"jsonrpc":"2.0","id":1,"method":1}', -32_600],
    ["an id that is an object", '{"jsonrpc":"2.0","id":{},"method":"eth_chainId"}', -32_600],
    ["parameters by name", '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":{}}', -32_602],
  ])("refuses %s with the code of the specification", async (_, body, code) => {
    const { status, json } = await client().post(body);
    expect(status).toBe(200);
    expect(json).toMatchObject({ jsonrpc: "2.0", error: { code } });
  });

  it("answers each call of a batch by its id, and none of the notifications", async () => {
    const call = (id: unknown, method: string) => ({
      jsonrpc: "2.0",
      ...(id !== undefined && { id }),
      method,
    });
    const batch = [
      call(1, "eth_chainId"),
      call(undefined, "eth_chainId"),
      call("b", "personal_sign"),
      7,
      call(null, "net_version"),
    ];
    const { json } = await client().post(JSON.stringify(batch));
    expect(json).toEqual([
      { jsonrpc: "2.0", id: 1, result: "0x899" },
      {
        jsonrpc: "2.0",
        id: "b",
        error: { code: -32_601, message: "the method personal_sign does not exist/is not available" },
      },
      { jsonrpc: "2.0", id: null, error: expect.objectContaining({ code: -32_600 }) },
      { jsonrpc: "2.0", id: null, result: "2201" },
    ]);
    expect((await client().post(JSON.stringify([call(undefined, "eth_chainId")]))).status).toBe(204);
  });

  it("takes null for no parameters, as nodes do", async () => {
    const { json } = await client().post('{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":null}');
    expect(json).toEqual({ jsonrpc: "2.0", id: 1, result: "0x899" });
  });

  it("answers with the very bytes of an id that JavaScript would round", async () => {
    const idsIn = async (body: string) => {
      const answer = await fetch(client().url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
      });
      return [...(await answer.text()).matchAll(/"id":([^,]+),/g)].map(([, id]) => id);
    };
    const call = (id: string) => `{"jsonrpc":"2.0","id":${id},"method":"eth_chainId","params":[]}`;
    expect(await idsIn(call("18446744073709551615"))).toEqual(["18446744073709551615"]);
    const batch = ["9007199254740993", '"9007199254740993"', "1.50", "7", "1e3"];
    expect((await idsIn(`[${batch.map(call)},{"id":9007199254740993}]`)).sort()).toEqual(
      ["9007199254740993", '"9007199254740993"', "1.50", "7", "1000", "9007199254740993"].sort(),
    );
    const refused = '{"jsonrpc":"2.0","id":9007199254740993,"method":"personal_sign"}';
    expect(await idsIn(refused)).toEqual(["9007199254740993"]);
  });

  it("takes no message above 256 KiB, over HTTP or a WebSocket, whatever the key", async () => {
    const messageOf = (bytes: number) => {
      const [head, tail] = [
        '{"jsonrpc":"2.0","id":9007199254740993,"method":"eth_chainId","params":["',
        '"]}',
      ];
      return `${head}${"a".repeat(bytes - head.length - tail.length)}${tail}`;
    };
    expect((await client().post(messageOf(262_144))).json).toMatchObject({ result: "0x899" });
    const refused = await client().post(messageOf(262_145));
    expect(refused.status).toBe(413);
    expect(refused.json).toMatchObject({ error: { data: { reason: "BODY_TOO_LARGE" } } });
    for (const key of [GATEWAY_KEY, API_KEY]) {
      const escaped = await fetch(client().url.replace("/rpc/", "/%72pc/"), {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: messageOf(262_145),
      });
      expect(escaped.status).toBe(413);
    }
    const socket = await GatewaySocket.open(client().url.replace("http", "ws"));
    const closed = socket.closeCode();
    socket.sendText(messageOf(262_145));
    expect(await closed).toBe(1009);
  });

  it("needs a key, and says so in JSON-RPC", async () => {
    const { status, json } = await new GatewayClient(service().url, "gwp_test_unknown").post("{}");
    expect(status).toBe(401);
    expect(json).toMatchObject({
      jsonrpc: "2.0",
      id: null,
      error: { code: -32_600, data: { reason: "UNKNOWN_KEY" } },
    });
  });

  it("has the same answers where its URL ends with a slash", async () => {
    const url = `${service().url}/rpc/${GATEWAY_KEY}/`;
    const headers = { "content-type": "application/json", origin: "https://app.example" };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_chainId" });
    const answers = await Promise.all([
      fetch(url, { method: "POST", headers, body }),
      fetch(`${url}?a=b`, { method: "GET", headers }),
      fetch(url, { method: "PUT", headers, body }),
      fetch(`${url}/`, { method: "POST", headers, body }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 426, 405, 404]);
    expect(await answers[0]?.json()).toEqual({ jsonrpc: "2.0", id: 1, result: "0x899" });
  });

  it("takes no secret key from a URL, and a publishable one only from its origins", async () => {
    const { url } = service();
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_chainId" });
    const inUrl = await new GatewayClient(url, API_KEY).post(body);
    const error = {
      message: "unauthorized: the URL has no publishable key: it ends in `/rpc/gwp_…`",
      data: { reason: "MISSING_KEY" },
    };
    expect([inUrl.status, inUrl.json]).toMatchObject([401, { error }]);
    const elsewhere = await client().post(body, { origin: "https://other.example" });
    expect([elsewhere.status, elsewhere.json]).toMatchObject([
      403,
      { error: { data: { reason: "ORIGIN_NOT_ALLOWED" } } },
    ]);
    const page = await client().post(body, { origin: "https://app.example" });
    expect([page.status, page.headers.get("access-control-allow-origin")]).toEqual([
      200,
      "https://app.example",
    ]);
    const wallet = await client().post(body, {
      origin: "chrome-extension://nkbihfbeogaeaoehlefnkodbefgpgknn",
    });
    expect(wallet.status).toBe(200);
    const asking = { origin: "https://app.example", "access-control-request-method": "POST" };
    const preflight = await fetch(client().url, { method: "OPTIONS", headers: asking });
    expect([preflight.status, preflight.headers.get("access-control-allow-methods")]).toEqual([
      204,
      "POST, GET, HEAD",
    ]);
  });

  it("reaches no method of the node that is not on the list", async () => {
    const { node } = service();
    const asked: string[] = [];
    const methods = [
      "admin_addPeer",
      "debug_traceCall",
      "eth_sendTransaction",
      "eth_newFilter",
      "txpool_content",
    ];
    for (const method of methods) node.answers[method] = () => asked.push(method);
    for (const method of [...methods, "__proto__", "constructor", "ETH_CALL", "eth_call "])
      expect(await client().refusal(method)).toMatchObject({ code: -32_601 });
    expect(asked).toEqual([]);
  });

  it("refuses parameters that are nested too deeply to be written again", async () => {
    const nested = "[".repeat(8_000) + "]".repeat(8_000);
    for (const method of ["eth_getBalance", "eth_subscribe"]) {
      const { json } = await client().post(
        `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${nested}}`,
      );
      expect(json).toMatchObject({ id: 1, error: { code: -32_602 } });
    }
  });

  it("passes on the node's results and errors as they are", async () => {
    const { node } = service();
    node.answers.eth_getStorageAt = ([address]) => ({ asked: address });
    node.answers.eth_call = () => {
      throw new RefusedByNode("execution reverted: no", "0x08c379a0");
    };
    expect(await client().call("eth_getStorageAt", userAddress(1), "0x0", "latest")).toEqual({
      asked: userAddress(1),
    });
    expect(await client().refusal("eth_call", { to: bytesToHex(TOKEN) }, "latest")).toEqual({
      code: -32_000,
      message: "execution reverted: no",
      data: { reason: "0x08c379a0" },
    });
  });

  it("searches no more blocks for logs than it may", async () => {
    const { node } = service();
    node.answers.eth_getLogs = () => [];
    expect(await client().call("eth_getLogs", { fromBlock: "0x1", toBlock: "0x64" })).toEqual([]);
    expect(await client().call("eth_getLogs", { blockHash: hashOf("0x") })).toEqual([]);
    expect(await client().call("eth_getLogs", {})).toEqual([]);
    expect(await client().refusal("eth_getLogs", { fromBlock: "0x1", toBlock: "0x65" })).toMatchObject({
      code: -32_602,
    });
    node.answers.eth_blockNumber = () => "0x64";
    expect(await client().refusal("eth_getLogs", { fromBlock: "earliest", toBlock: "latest" })).toMatchObject(
      {
        message: expect.stringMatching(/blocks, more than 100/),
      },
    );
  });

  it("lets no filter search more by fields that a node reads in its own way", async () => {
    const { node } = service();
    const asked: unknown[] = [];
    node.answers.eth_getLogs = ([filter]) => {
      asked.push(filter);
      return [];
    };
    const address = userAddress(1);
    await client().call("eth_getLogs", { address, FromBlock: "0x0", toBlock: null });
    expect(asked).toContainEqual({ address, fromBlock: "latest", toBlock: "latest" });
    const hashAndRange = { address, blockHash: hashOf("0x"), fromBlock: "0x0" };
    expect(await client().refusal("eth_getLogs", hashAndRange)).toMatchObject({ code: -32_602 });
  });

  it("quotes 0 for every price, and shows no base fee", async () => {
    const { node } = service();
    let asked: unknown;
    node.answers.eth_call = ([call]) => {
      asked = call;
      return "0x";
    };
    node.answers.eth_feeHistory = () => ({
      oldestBlock: "0x1",
      baseFeePerGas: ["0x7", "0x8"],
      gasUsedRatio: [0.5],
      reward: [["0x1", "0x2"]],
    });
    node.answers.eth_estimateGas = () => "0x5208";
    expect(await client().call("eth_gasPrice")).toBe("0x0");
    expect(await client().call("eth_maxPriorityFeePerGas")).toBe("0x0");
    expect(await client().call("eth_feeHistory", "0x1", "latest", [10, 20])).toEqual({
      oldestBlock: "0x1",
      baseFeePerGas: ["0x0", "0x0"],
      gasUsedRatio: [0.5],
      reward: [["0x0", "0x0"]],
    });
    node.answers.eth_getBlockByNumber = () => ({ number: "0x1", baseFeePerGas: "0x7", gasLimit: "0x1" });
    expect(await client().call("eth_getBlockByNumber", "0x1", false)).toEqual({
      number: "0x1",
      gasLimit: "0x1",
    });
    delete node.answers.eth_getBlockByNumber;
    const to = bytesToHex(TOKEN);
    await client().call(
      "eth_call",
      { to, gasPrice: "0x1", maxFeePerGas: "0x2", maxPriorityFeePerGas: "0x1" },
      "latest",
    );
    expect(asked).toEqual({ to });
    // EIP-7623: 100 bytes that are not 0 cost at least 40 each, which this node does not know.
    const data = `0x${"ff".repeat(100)}`;
    expect(await client().call("eth_estimateGas", { to, data })).toBe(`0x${(21_000 + 4_000).toString(16)}`);
  });
});

describe("eth_sendRawTransaction", () => {
  const service = services.shared({ publicApiKeys });
  const client = () => new GatewayClient(service().url);

  it("submits a transaction of price 0, and says as a node that it is known when it comes again (D18)", async () => {
    const raw = innerOf(1);
    expect(await client().call("eth_sendRawTransaction", raw)).toBe(hashOf(raw));
    const again = await client().refusal("eth_sendRawTransaction", raw);
    expect(again).toMatchObject({ code: -32_000, data: { txHash: hashOf(raw) } });
    expect(again.message).toMatch(/^already known: /);
    const rows = await service().query("select state from submissions where inner_hash = $1", [
      hexToBytes(hashOf(raw)),
    ]);
    expect(rows).toHaveLength(1);
    expect(await client().call("pm_getSubmission", hashOf(raw))).toMatchObject({
      txHash: hashOf(raw),
      sender: userAddress(1),
    });
    expect(await client().call("eth_getGaslessTransactionByHash", hashOf(raw))).toMatchObject({
      txHash: hashOf(raw),
      fromAddress: userAddress(1),
      toAddress: bytesToHex(TOKEN),
      status: expect.any(Number),
    });
  });

  it("refuses in the words of a node, with the reason and the id for programs", async () => {
    const refusals = {
      [innerOf(2, 0, { gasLimit: 21_000n })]: [-32_000, /^intrinsic gas too low: /, "GAS_LIMIT_TOO_LOW"],
      [innerOf(2, 0, { chainId: 1n })]: [-32_000, /^invalid chain id for signer: /, "WRONG_CHAIN_ID"],
      [innerOf(2, 0, { gasPrice: 1n })]: [
        -32_003,
        /^transaction rejected: .* gas price is 1 wei/,
        "NON_ZERO_GAS_PRICE",
      ],
      [innerOf(2, 0, { data: new Uint8Array(4) })]: [
        -32_003,
        /^transaction rejected: /,
        "SELECTOR_NOT_ALLOWED",
      ],
      "0x1234": [-32_602, /^invalid transaction: /, undefined],
    } as const;
    for (const [raw, [code, message, reason]] of Object.entries(refusals)) {
      const refusal = await client().refusal("eth_sendRawTransaction", raw);
      expect(refusal).toMatchObject({ code, message: expect.stringMatching(message) });
      if (reason !== undefined) expect(refusal).toMatchObject({ data: { reason, id: expect.any(String) } });
    }
    expect(await client().refusal("eth_sendRawTransaction")).toMatchObject({ code: -32_602 });
  });

  it("says that a used nonce is too low, and that another transaction has one", async () => {
    const first = innerOf(3);
    await client().call("eth_sendRawTransaction", first);
    const again = await client().refusal("eth_sendRawTransaction", innerOf(3, 0, { gasLimit: 99_000n }));
    expect(again.message).toMatch(/^(nonce too low|replacement transaction underpriced): /);
  });
});

describe("eth_sendRawTransaction after a lost answer", () => {
  it("gives the hash again where the connection ended before the answer left, over HTTP and a WebSocket", async () => {
    const options = { publicApiKeys, gatewayWait: "included" } as const;
    const service = await services.start(options, { automine: false });
    const client = new GatewayClient(service.url);
    const [overHttp, overSocket] = [innerOf(1), innerOf(2)];
    const body = (raw: Hex) =>
      JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_sendRawTransaction", params: [raw] });
    const ending = new AbortController();
    const headers = { "content-type": "application/json" };
    const lost = fetch(client.url, { method: "POST", headers, body: body(overHttp), signal: ending.signal });
    const socket = await GatewaySocket.open(client.url.replace(/^http/, "ws"));
    socket.sendText(body(overSocket));
    await service.until("select 1 from submissions having count(*) = 2");
    ending.abort();
    await expect(lost).rejects.toThrow();
    socket.terminate();
    const mining = setInterval(() => service.node.mine(), 20);
    try {
      for (const raw of [overHttp, overSocket]) {
        expect(await client.call("eth_sendRawTransaction", raw)).toBe(hashOf(raw));
        expect((await client.refusal("eth_sendRawTransaction", raw)).message).toMatch(/^already known: /);
      }
    } finally {
      clearInterval(mining);
    }
  });
});

describe("eth_sendRawTransaction of a client that closes its sending half", () => {
  it("is answered, and gives the hash once more: nobody knows whether the client had left", async () => {
    const service = await services.start({ publicApiKeys });
    const client = new GatewayClient(service.url);
    const { port, hostname, pathname } = new URL(client.url);
    const raw = innerOf(1);
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_sendRawTransaction", params: [raw] });
    const head = ["POST", pathname, "HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"].join(" ");
    const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
    socket.end(`${head}Content-Length: ${body.length}\r\n\r\n${body}`);
    let answer = "";
    for await (const part of socket.setEncoding("utf8")) answer += part;
    expect(answer).toContain(`"result":"${hashOf(raw)}"`);
    expect(await client.call("eth_sendRawTransaction", raw)).toBe(hashOf(raw));
    expect((await client.refusal("eth_sendRawTransaction", raw)).message).toMatch(/^already known: /);
  });
});

describe("eth_sendRawTransaction with `--gateway-wait included`", () => {
  it("answers when the transaction is in a block", async () => {
    const options = { publicApiKeys, gatewayWait: "included" } as const;
    const service = await services.start(options, { automine: false });
    const client = new GatewayClient(service.url);
    const raw = innerOf(8);
    let isAnswered = false;
    const answer = client.call("eth_sendRawTransaction", raw).finally(() => {
      isAnswered = true;
    });
    await service.node.until(({ sent }) => sent.length === 1);
    const states = () => service.query("select state from submissions");
    await expect.poll(states, PATIENT).toEqual([{ state: "broadcast" }]);
    expect(isAnswered).toBe(false);
    service.node.mine();
    expect(await answer).toBe(hashOf(raw));
    expect(await client.call("pm_getSubmission", hashOf(raw))).toMatchObject({ state: "included" });
    const gasless = await client.call("eth_getGaslessTransactionByHash", hashOf(raw));
    expect(gasless).toMatchObject({ status: 2, bornBlockNumber: expect.anything() });
  });
});

describe("what the service holds", () => {
  it("is counted in the pending nonce, and found by its hash before its block", async () => {
    const service = await services.start({ publicApiKeys }, { automine: false });
    const client = new GatewayClient(service.url);
    const [sender] = [userAddress(5)];
    expect(await client.call("eth_getTransactionCount", sender, "pending")).toBe("0x0");
    const raws = [0, 1, 2].map((nonce) => innerOf(5, nonce));
    for (const raw of raws) await client.call("eth_sendRawTransaction", raw);
    expect(await client.call("eth_getTransactionCount", sender, "pending")).toBe("0x3");
    expect(await client.call("eth_getTransactionCount", sender, "latest")).toBe("0x0");
    const hash = hashOf(raws[1] as Hex);
    const held = await client.call("eth_getTransactionByHash", hash);
    expectReadable("transaction", held);
    expect(held).toMatchObject({
      hash,
      from: sender,
      to: bytesToHex(TOKEN),
      nonce: "0x1",
      gasPrice: "0x0",
      type: "0x0",
      blockNumber: null,
    });
    expect(await client.call("eth_getTransactionReceipt", hash)).toBeNull();
    expect(await client.call("eth_getTransactionByHash", hashOf("0x"))).toBeNull();
    for (const method of ["pm_getSubmission", "eth_getGaslessTransactionByHash"])
      expect(await client.call(method, hashOf("0x"))).toBeNull();
  });
});

describe("the paymaster methods of BEP-414", () => {
  const service = services.shared({ publicApiKeys, maxGasLimit: 200_000n });
  const client = () => new GatewayClient(service().url);
  const transfer = { from: userAddress(1), to: bytesToHex(TOKEN), data: bytesToHex(TRANSFER), value: "0x0" };

  it.each([
    ["a permitted call", {}, undefined],
    ["a target that no policy permits", { to: userAddress(9) }, "TARGET_NOT_ALLOWED"],
    ["a method that no policy permits", { data: "0x12345678" }, "SELECTOR_NOT_ALLOWED"],
    ["more gas than one may have", { gas: "0x30d41" }, "GAS_LIMIT_TOO_HIGH"],
    ["a contract creation", { to: null }, "CONTRACT_CREATION"],
  ])("tell whether %s is sponsored", async (_, changes, reason) => {
    const sponsorable = reason === undefined;
    expect(await client().call("pm_isSponsorable", { ...transfer, ...changes })).toEqual({
      sponsorable,
      Sponsorable: sponsorable,
      sponsorPolicy: "gas-waiver",
      SponsorPolicy: "gas-waiver",
      sponsorName: "gas-waiver",
      ...(reason && { reason, message: expect.any(String) }),
    });
  });

  it("tell that the service works", async () => {
    await expect.poll(() => client().call("pm_health"), PATIENT).toBe(true);
  });
});

it("tells the capabilities of wallets (EIP-5792) for its own chain, and for no other", async () => {
  const client = new GatewayClient((await services.start({ publicApiKeys })).url);
  const chainId: Hex = `0x${CHAIN_ID.toString(16)}`;
  const own = { [chainId]: { atomic: { status: "unsupported" }, paymasterService: { supported: true } } };
  const capabilities = (...chains: unknown[][]) =>
    client.call("wallet_getCapabilities", userAddress(1), ...chains);
  expect(await capabilities()).toEqual(own);
  expect(await capabilities([chainId, "0x1"])).toEqual(own);
  expect(await capabilities(["0x1"])).toEqual({});
  expect(await capabilities([{ toString: 0 }, [chainId]])).toEqual({});
});

describe("a transaction that pays for itself", () => {
  it("goes to the node as it is, where the operator permits that", async () => {
    const service = await services.start({ publicApiKeys, gatewayPaid: "pass" });
    const client = new GatewayClient(service.url);
    const paid = innerOf(6, 0, { gasPrice: 5n });
    const body = JSON.stringify({ jsonrpc: "2.0", id: 0, result: hashOf(paid) });
    service.node.script = ({ raws }) =>
      raws[0] === paid ? { kind: "answer", status: 200, body } : undefined;
    expect(await client.call("eth_sendRawTransaction", paid)).toBe(hashOf(paid));
    expect(await service.rows()).toEqual([]);
  });
});

describe("a transaction of a type that can never be gas-waived", () => {
  // A blob transaction (EIP-4844) and a delegation (EIP-7702). Only the type byte is looked at.
  const raws = ["0x03c0", "0x04c0"] as const;

  it("is refused in the words of a node, and reaches none", async () => {
    const service = await services.start({ publicApiKeys });
    const client = new GatewayClient(service.url);
    for (const raw of raws) {
      expect(await client.refusal("eth_sendRawTransaction", raw)).toMatchObject({
        code: -32_000,
        message: expect.stringMatching(/^transaction type not supported: /),
        data: { reason: "UNSUPPORTED_TYPE" },
      });
    }
    expect(service.node.sent).toEqual([]);
  });

  it("goes to the node where the operator passes on what pays, with the node's own answer", async () => {
    const service = await services.start({ publicApiKeys, gatewayPaid: "pass" });
    const client = new GatewayClient(service.url);
    const error = { code: -32_000, message: "transaction underpriced: gas tip cap 0" };
    service.node.onSends({ kind: "error", of: () => error });
    for (const raw of raws) expect(await client.refusal("eth_sendRawTransaction", raw)).toEqual(error);
    expect(service.node.sent).toEqual(raws);
    expect(await service.rows()).toEqual([]);
  });
});

describe("a client that asks too much", () => {
  it("is told to wait, by HTTP and in JSON-RPC, and others are not", async () => {
    const service = await services.start({
      publicApiKeys,
      gatewayAddressRatePerSecond: 10,
      gatewayRatePerSecond: 1_000,
    });
    const batch = Array(10).fill({ jsonrpc: "2.0", id: 1, method: "eth_chainId" });
    const client = new GatewayClient(service.url);
    expect((await client.post(JSON.stringify(batch))).status).toBe(200);
    expect((await client.post(JSON.stringify(batch))).status).toBe(200);
    const { status, json, headers } = await client.post(JSON.stringify(batch));
    expect(status).toBe(429);
    expect(headers.get("retry-after")).toMatch(/^\d+$/);
    expect(json).toMatchObject({ error: { code: -32_005, data: { reason: "RATE_EXCEEDED" } } });
    const tooLarge = JSON.stringify(Array(101).fill(batch[0]));
    expect((await client.post(tooLarge)).status).toBe(429);
    // Clients of a WebSocket have the id alone to tell which call is refused.
    const socket = await GatewaySocket.open(client.url.replace("http", "ws"));
    const answers = await Promise.all(Array.from({ length: 200 }, () => socket.call("eth_chainId")));
    const codes = answers.map(({ error }) => error?.code);
    expect(codes).toContain(-32_005);
    await socket.close();
  });
});

describe("answers of the node", () => {
  const service = services.shared({ publicApiKeys });
  const client = () => new GatewayClient(service().url);

  it("are remembered where they cannot change, and asked for once by calls at the same time", async () => {
    const { node } = service();
    const asked: string[] = [];
    const answering = (method: string, result: unknown) => {
      node.answers[method] = () => {
        asked.push(method);
        return result;
      };
    };
    const hash = hashOf("0x");
    answering("eth_getBlockByHash", { hash, number: "0x1" });
    answering("eth_getCode", "0x60");
    answering("eth_getBalance", "0x0");
    answering("eth_getTransactionReceipt", { blockNumber: "0xffffffff" });
    for (let i = 0; i < 2; i++) {
      await client().call("eth_getBlockByHash", hash, false);
      await client().call("eth_getCode", userAddress(1), "0x0");
      await client().call("eth_getTransactionReceipt", hash);
      await client().call("eth_getBalance", userAddress(1), "latest");
    }
    expect(asked.sort()).toEqual([
      "eth_getBalance",
      "eth_getBalance",
      "eth_getBlockByHash",
      "eth_getCode",
      "eth_getTransactionReceipt",
      "eth_getTransactionReceipt",
    ]);
    asked.length = 0;
    const call = { jsonrpc: "2.0", id: 1, method: "eth_getBalance", params: [userAddress(2), "latest"] };
    const { json } = await client().post(JSON.stringify([call, call, call]));
    expect(json).toEqual(Array(3).fill({ jsonrpc: "2.0", id: 1, result: "0x0" }));
    expect(asked).toEqual(["eth_getBalance"]);
  });

  it("are not remembered where they are logs of blocks that a node may not have yet", async () => {
    const { node } = service();
    const address = userAddress(1);
    const asked: unknown[] = [];
    node.answers.eth_getLogs = ([filter]) => {
      const { address: of, toBlock } = filter as { readonly address: unknown; readonly toBlock: string };
      if (of === address) asked.push(toBlock);
      return [];
    };
    for (let i = 0; i < 100; i++) node.mine();
    const height = node.chain.height;
    const logsUntil = (toBlock: string) =>
      client().call("eth_getLogs", { address, fromBlock: "0x1", toBlock });
    // The service knows of the new blocks, because it remembers older ones.
    await expect
      .poll(async () => {
        asked.length = 0;
        for (let i = 0; i < 2; i++) await logsUntil("0x14");
        return asked;
      }, PATIENT)
      .toEqual([]);
    const newest = `0x${height.toString(16)}`;
    for (let i = 0; i < 2; i++) await logsUntil(newest);
    expect(asked).toEqual([newest, newest]);
  });
});

describe("the WebSocket", () => {
  const service = services.shared({ publicApiKeys });
  const socketUrl = (key = GATEWAY_KEY) => `${service().url.replace("http", "ws")}/rpc/${key}`;

  it("gives the same answers, and announces new blocks and their logs", async () => {
    const { node } = service();
    const log = { address: bytesToHex(TOKEN), topics: [hashOf("0x"), hashOf("0x01")], data: "0x" };
    node.answers.eth_getLogs = ([filter]) => [
      { ...log, blockHash: (filter as { blockHash: string }).blockHash },
    ];
    const socket = await GatewaySocket.open(socketUrl());
    expect(await socket.call("eth_chainId")).toEqual({ result: "0x899" });
    expect(await socket.callInBinary("eth_chainId")).toEqual({ result: "0x899" });
    expect(await socket.call("eth_newFilter")).toMatchObject({ error: { code: -32_601 } });
    expect(await socket.call("eth_subscribe", "newPendingTransactions")).toMatchObject({
      error: { code: -32_601 },
    });
    const { result: heads } = await socket.call("eth_subscribe", "newHeads");
    const topics = [null, [hashOf("0x01")]];
    const { result: logs } = await socket.call("eth_subscribe", "logs", {
      address: bytesToHex(TOKEN),
      topics,
    });
    await socket.call("eth_subscribe", "logs", { address: userAddress(1) });
    node.mine();
    const notified = [await socket.next(), await socket.next()];
    expect(notified.map(({ params }) => params.subscription)).toEqual([heads, logs]);
    const [head, found] = notified.map(({ params }) => params.result as Record<string, unknown>);
    expect(Object.keys(head ?? {})).toEqual(expect.arrayContaining(["hash", "number"]));
    expect(head).not.toHaveProperty("baseFeePerGas");
    expect(found).toEqual({ ...log, blockHash: head?.hash });
    expect(await socket.call("eth_unsubscribe", heads)).toEqual({ result: true });
    expect(await socket.call("eth_unsubscribe", heads)).toEqual({ result: false });
    await socket.close();
    const overHttp = await new GatewayClient(service().url).refusal("eth_subscribe", "newHeads");
    expect(overHttp).toMatchObject({ code: -32_601, message: "notifications not supported" });
  });

  it("announces a block once that it hears of twice", async () => {
    const changes = { publicApiKeys };
    const { node, url } = await services.start(changes, {
      prepare: ({ wsUrl }) => Object.assign(changes, { rpcWsUrl: wsUrl }),
    });
    await node.until(({ heads }) => heads.subscribers === 1);
    const socket = await GatewaySocket.open(`${url.replace("http", "ws")}/rpc/${GATEWAY_KEY}`);
    await socket.call("eth_subscribe", "newHeads");
    const heights: number[] = [];
    for (let i = 0; i < 3; i++) {
      node.mine();
      node.heads.announce(node.chain.height);
      const { params } = await socket.next();
      heights.push(Number((params.result as { readonly number: string }).number));
      node.heads.announce(node.chain.height);
      await node.nextCall("eth_blockNumber");
    }
    const last = node.chain.height;
    expect(heights).toEqual([last - 2, last - 1, last]);
    await socket.close();
  });

  it("sends all logs of a block to a client that reads, and closes with 1013 for one that does not", async () => {
    const { node } = service();
    const logsOfBlock = (logs: readonly object[]) => {
      node.answers.eth_getLogs = ([filter]) => ("blockHash" in (filter as object) ? logs : []);
    };
    const log = { address: bytesToHex(TOKEN), topics: [], data: `0x${"00".repeat(500)}` };
    logsOfBlock(Array(5_000).fill(log));
    const socket = await GatewaySocket.open(socketUrl());
    await socket.call("eth_subscribe", "logs");
    node.mine();
    for (let i = 0; i < 5_000; i++) await socket.next();
    logsOfBlock([{ ...log, data: `0x${"00".repeat(500_000)}` }]);
    for (let i = 1; i < 20; i++) await socket.call("eth_subscribe", "logs");
    const reader = await GatewaySocket.open(socketUrl());
    await reader.call("eth_subscribe", "logs");
    socket.pause();
    // The first connection is told of each block before the second.
    for (let i = 0; i < 2; i++) {
      node.mine();
      await reader.next();
    }
    expect(await socket.closeCode()).toBe(1013);
    await reader.close();
  });

  it("keeps 1,000 addresses and topics of a connection's filters at most", async () => {
    const socket = await GatewaySocket.open(socketUrl());
    const topics = Array.from({ length: 600 }, (_, i) => hashOf(bytesToHex(Uint8Array.of(i >> 8, i & 0xff))));
    const first = await socket.call("eth_subscribe", "logs", { topics: [topics] });
    expect(await socket.call("eth_subscribe", "logs", { topics: [topics] })).toMatchObject({
      error: { code: -32_005 },
    });
    await socket.call("eth_unsubscribe", first.result);
    expect(await socket.call("eth_subscribe", "logs", { topics: [topics] })).toHaveProperty("result");
    expect(await socket.call("eth_subscribe", "logs", { address: "0x12" })).toMatchObject({
      error: { code: -32_602 },
    });
    await socket.close();
  });

  it("is refused without a good key, and tells a GET what it is", async () => {
    await expect(GatewaySocket.open(socketUrl("gwp_test_unknown"))).rejects.toThrow("401");
    expect((await fetch(socketUrl().replace("ws", "http"))).status).toBe(426);
  });
});
