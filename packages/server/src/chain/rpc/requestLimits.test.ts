// Nodes and proxies that take only so much at once, over real HTTP.
import { type Hex, hexToBytes } from "@gas-waiver/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { type RequestLimits, ScriptedNode } from "../../../test/support/scriptedNode.js";
import { bytes } from "../../../test/support/submissions.js";
import { createNodeClient } from "../client/nodeClient.js";
import { createRpc, type RpcOutcome, RpcUnavailableError } from "./rpc.js";

const nodes: ScriptedNode[] = [];
afterEach(async () => {
  await Promise.all(nodes.splice(0).map((node) => node.close()));
});

async function start(limits: Partial<RequestLimits> = {}, rpcTimeoutMs = 20_000) {
  const node = await ScriptedNode.start();
  nodes.push(node);
  node.limits = { ...node.limits, ...limits };
  const rpc = createRpc({ rpcUrls: [node.url], rpcTimeoutMs, signal: new AbortController().signal });
  return { node, rpc, client: createNodeClient(rpc) };
}

/** Bytes that no chain takes; the node answers each with a refusal of its own. */
const rawOf = (i: number, length = 10) => Uint8Array.from([...bytes(length - 2, 0), i >> 8, i & 0xff]);
const raws = (count: number, length?: number) => Array.from({ length: count }, (_, i) => rawOf(i, length));
const places = (sent: readonly Hex[]) => sent.map((raw) => Number(`0x${raw.slice(-4)}`));
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);
const REFUSED = { code: -32_001, message: "no" };
const NOT_TAKEN = { code: -32_000, message: "txpool is full" };

/** Names the kind of an outcome. */
function kindOf(outcome: RpcOutcome): string {
  if (!("error" in outcome)) return "result";
  return outcome.error instanceof RpcUnavailableError
    ? `unavailable, sent: ${outcome.error.sent}`
    : "answered";
}
/** The node answers each send with an error, and so has seen it. */
function answerAll(node: ScriptedNode) {
  node.script = ({ raws: sent }) => (sent.length > 0 ? { kind: "error", of: () => NOT_TAKEN } : undefined);
}

describe("sends", () => {
  it("of 200 KB each keep below a proxy's limit of 1 MiB, in order and without a refusal", async () => {
    const { node, client } = await start({ bytes: 1_048_576 });
    answerAll(node);
    const outcomes = await client.sendRawTransactions(raws(41, 100_000));
    expect(outcomes.map(kindOf)).toEqual(Array(41).fill("answered"));
    expect(places(node.sent)).toEqual(upTo(41));
    expect(node.requests).toEqual({ all: 21, refused: 0 });
  });

  it("to a node that takes 10 calls go again in halves, in order, and what was learnt is kept", async () => {
    const { node, client } = await start({ calls: 10 });
    answerAll(node);
    const outcomes = await client.sendRawTransactions(raws(60));
    expect(outcomes.map(kindOf)).toEqual(Array(60).fill("answered"));
    // 60, 30 and 15 were refused; 7 at once are taken.
    expect(node.requests).toEqual({ all: 3 + 9, refused: 3 });
    expect(places(node.sent.slice(60 + 30 + 15))).toEqual(upTo(60));
    await client.sendRawTransactions(raws(7));
    expect(node.requests).toEqual({ all: 13, refused: 3 });
  });

  it("with one call that is too large for the proxy even alone: only that call has the error", async () => {
    const { node, client } = await start({ bytes: 60_000 });
    answerAll(node);
    const sent = raws(20).map((raw, i) => (i === 9 ? rawOf(9, 40_000) : raw));
    const outcomes = await client.sendRawTransactions(sent);
    expect(outcomes.map(kindOf)).toEqual(Array(20).fill("answered"));
    const small = outcomes.filter((_, i) => i !== 9);
    expect(small).toMatchObject(Array(19).fill({ error: NOT_TAKEN }));
    expect(outcomes[9]).toMatchObject({ error: { message: expect.stringMatching(/HTTP 413/) } });
  });

  it("go out in requests of a hundred, in order, whatever the node answers to single transactions", async () => {
    const { node, client } = await start();
    const sizes: number[] = [];
    node.script = ({ raws: sent }) => {
      sizes.push(sent.length);
      return { kind: "error", of: (raw) => (places([raw])[0] === 99 ? REFUSED : NOT_TAKEN) };
    };
    const outcomes = await client.sendRawTransactions(raws(250));
    expect(outcomes).toMatchObject(upTo(250).map((i) => ({ error: i === 99 ? REFUSED : NOT_TAKEN })));
    expect(sizes).toEqual([100, 100, 50]);
    expect(places(node.sent)).toEqual(upTo(250));
  });

  it("end with a request that may not have arrived, so that later ones do not arrive first", async () => {
    const { node, client } = await start();
    node.script = ({ raws: sent }) =>
      places(sent).includes(100)
        ? { kind: "answer", status: 502, body: "" }
        : { kind: "error", of: () => NOT_TAKEN };
    const outcomes = (await client.sendRawTransactions(raws(250))).map(kindOf);
    expect(places(node.sent)).toEqual(upTo(200));
    expect(outcomes.slice(0, 100)).toEqual(Array(100).fill("answered"));
    expect(outcomes.slice(100, 200)).toEqual(Array(100).fill("unavailable, sent: unknown"));
    expect(outcomes.slice(200)).toEqual(Array(50).fill("unavailable, sent: no"));
  });

  it("that are answered in part: nothing follows, and the next request is smaller", async () => {
    const { node, client } = await start();
    const answers = upTo(30).map((id) => ({ jsonrpc: "2.0", id, error: NOT_TAKEN }));
    node.onSends({ kind: "answer", status: 200, body: JSON.stringify(answers) });
    const outcomes = (await client.sendRawTransactions(raws(150))).map(kindOf);
    expect(node.sent).toHaveLength(100);
    expect(outcomes.slice(0, 30)).toEqual(Array(30).fill("answered"));
    expect(outcomes.slice(30, 100)).toEqual(Array(70).fill("unavailable, sent: unknown"));
    expect(outcomes.slice(100)).toEqual(Array(50).fill("unavailable, sent: no"));
    const sizes: number[] = [];
    node.script = ({ raws: sent }) => {
      sizes.push(sent.length);
      return { kind: "error", of: () => NOT_TAKEN };
    };
    await client.sendRawTransactions(raws(150));
    expect(sizes).toEqual([50, 50, 50]);
  });

  it("that time out again and again get smaller, and nothing is sent behind them", async () => {
    const { node, client } = await start({}, 200);
    const sizes: number[] = [];
    node.script = ({ raws: sent }) => {
      if (sent.length > 0) sizes.push(sent.length);
      return sent.length > 30
        ? { kind: "silence", carriedOut: false }
        : { kind: "error", of: () => NOT_TAKEN };
    };
    for (let i = 0; i < 4; i++) {
      await client.sendRawTransactions(raws(100));
      await client.blockNumber();
    }
    expect(sizes).toEqual([100, 100, 50, 25, 25, 25, 25]);
  });
});

describe("reads", () => {
  const addresses = upTo(60).map((i) => rawOf(i, 20));

  it("to a node that takes 10 calls are answered in order, and what was learnt is kept", async () => {
    const { node, client } = await start({ calls: 10 });
    for (const [i, address] of addresses.entries()) {
      node.chain.setNonce(`0x${Buffer.from(address).toString("hex")}`, BigInt(i));
    }
    expect(await client.nonces(addresses)).toEqual(addresses.map((_, i) => BigInt(i)));
    expect(node.requests).toEqual({ all: 12, refused: 3 });
    await client.nonces(addresses);
    expect(node.requests).toEqual({ all: 21, refused: 3 });
  });

  it("that are answered in part are asked for again", async () => {
    const { node, client } = await start();
    node.script = ({ methods }) => (methods.length > 8 ? { kind: "partial", answered: 8 } : undefined);
    expect(await client.nonces(addresses)).toEqual(Array(60).fill(0n));
  });

  it("whose answer does not end are cut, and asked for again in smaller requests", async () => {
    const { node, client } = await start();
    node.script = ({ methods }) => (methods.length > 20 ? { kind: "flood" } : undefined);
    expect(await client.nonces(addresses)).toEqual(Array(60).fill(0n));
  });

  it("of one call whose answer does not end fail, and the others of the request do not", async () => {
    const { node, rpc } = await start();
    node.script = ({ methods }) => (methods.includes("eth_getBalance") ? { kind: "flood" } : undefined);
    const calls = [
      { method: "eth_blockNumber", params: [] },
      { method: "eth_getBalance", params: ["0x12", "latest"] },
      { method: "eth_blockNumber", params: [] },
    ];
    const outcomes = await rpc.read(calls);
    expect(outcomes.map(kindOf)).toEqual(["result", "unavailable, sent: unknown", "result"]);
  });

  const waiver = rawOf(1, 20);
  const hashes = upTo(20).map((i) => rawOf(i, 32));
  const SNAPSHOT = { nonces: [0n], receipts: Array(20).fill(undefined), nonceAfter: 0n };

  it("of a snapshot go in one request for each part, with the nonces around it", async () => {
    const { node, client } = await start({ calls: 12 });
    // The limit is learnt to be 7 by another read.
    await client.nonces(addresses);
    const methods: string[] = [];
    node.script = (arrival) => {
      methods.push(
        arrival.methods.map((method) => (method.endsWith("Receipt") ? "receipt" : "nonce")).join(" "),
      );
      return undefined;
    };
    expect(await client.snapshot([waiver], hashes)).toEqual(SNAPSHOT);
    expect(methods).toEqual(Array(4).fill("nonce receipt receipt receipt receipt receipt nonce"));
  });

  it("of a snapshot give the lowest nonce before the receipts, and the highest after them", async () => {
    const { node, client } = await start({ calls: 12 });
    await client.nonces(addresses);
    const hex = (address: Uint8Array) => `0x${Buffer.from(address).toString("hex")}` as const;
    let next = 0n;
    node.script = () => {
      node.chain.setNonce(hex(waiver), next++);
      return undefined;
    };
    const { nonces, nonceAfter } = await client.snapshot([waiver, ...addresses.slice(10, 30)], hashes);
    expect([nonces.length, nonces[0]]).toEqual([21, 0n]);
    expect(nonceAfter).toBe(next - 1n);
  });

  it("of a snapshot are made one by one, in order, where a node takes no batches", async () => {
    const { node, client } = await start({ calls: 1 });
    const methods: string[] = [];
    node.script = ({ methods: [method = ""] }) => {
      methods.push(method.endsWith("Receipt") ? "receipt" : "nonce");
      return undefined;
    };
    expect(await client.snapshot([waiver], hashes)).toEqual(SNAPSHOT);
    expect(methods).toEqual(Array(20).fill(["nonce", "receipt", "nonce"]).flat());
  });
});

describe("a node that cannot be reached", () => {
  it("does not lower its limits", async () => {
    const { node, client } = await start();
    await node.close();
    for (let i = 0; i < 10; i++) await client.nonces([...addressesOf(60)]).catch(() => {});
    await node.open();
    node.requests.all = 0;
    await client.nonces([...addressesOf(60)]);
    expect(node.requests).toEqual({ all: 1, refused: 0 });
  });
});

function addressesOf(count: number): Uint8Array[] {
  return Array.from({ length: count }, (_, i) => hexToBytes(`0x${i.toString(16).padStart(40, "0")}`));
}
