// Nodes and proxies that take only so much at once, over real HTTP.
import { type Hex, hexToBytes } from "@gas-waiver/protocol";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type RequestLimits, ScriptedNode } from "../../../test/support/scriptedNode.js";
import { bytes } from "../../../test/support/submissions.js";
import { sendCall } from "../client/calls.js";
import { NodeClient } from "../client/nodeClient.js";
import { createRpc, type Rpc, type RpcOutcome, RpcUnavailableError } from "./rpc.js";

const nodes: ScriptedNode[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(nodes.splice(0).map((node) => node.close()));
});

async function start(limits: Partial<RequestLimits> = {}, rpcTimeoutMs = 20_000) {
  const node = await ScriptedNode.start();
  nodes.push(node);
  node.limits = { ...node.limits, ...limits };
  const rpc = createRpc({ rpcUrls: [node.url], rpcTimeoutMs, signal: new AbortController().signal });
  return { node, rpc, client: new NodeClient(rpc) };
}

/** Bytes that no chain takes; the node answers each with a refusal of its own. */
const rawOf = (i: number, length = 10) => Uint8Array.from([...bytes(length - 2, 0), i >> 8, i & 0xff]);
const raws = (count: number, length?: number) => Array.from({ length: count }, (_, i) => rawOf(i, length));
const places = (sent: readonly Hex[]) => sent.map((raw) => Number(`0x${raw.slice(-4)}`));
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);
const send = (rpc: Rpc, sent: readonly Uint8Array[]) =>
  rpc.send(sent.map((wrapperRaw) => sendCall({ wrapperRaw, wrapperHash: new Uint8Array(32) })));
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
    const { node, rpc } = await start({ bytes: 1_048_576 });
    answerAll(node);
    const outcomes = await send(rpc, raws(41, 100_000));
    expect(outcomes.map(kindOf)).toEqual(Array(41).fill("answered"));
    expect(places(node.sent)).toEqual(upTo(41));
    expect(node.requests).toEqual({ all: 21, refused: 0 });
  });

  it("to a node that takes 10 calls go again in halves, in order, and what was learnt is kept", async () => {
    const { node, rpc } = await start({ calls: 10 });
    answerAll(node);
    const outcomes = await send(rpc, raws(60));
    expect(outcomes.map(kindOf)).toEqual(Array(60).fill("answered"));
    // 60, 30 and twice 15 were refused, and a read was asked whether the node answers; 8 and then 7 at once are taken.
    expect(node.requests).toEqual({ all: 4 + 1 + 8, refused: 4 });
    const taken = places(node.sent.slice(60 + 30)).filter((place, i, all) => all.lastIndexOf(place) === i);
    expect(taken).toEqual(upTo(60));
    await send(rpc, raws(7));
    expect(node.requests).toEqual({ all: 14, refused: 4 });
  });

  it("with one call that is too large for the proxy even alone: only that call has the error", async () => {
    const { node, rpc } = await start({ bytes: 60_000 });
    answerAll(node);
    const sent = raws(20).map((raw, i) => (i === 9 ? rawOf(9, 40_000) : raw));
    const outcomes = await send(rpc, sent);
    const small = outcomes.filter((_, i) => i !== 9);
    expect(small).toMatchObject(Array(19).fill({ error: NOT_TAKEN }));
    expect(outcomes[9]).toMatchObject({
      error: { message: expect.stringMatching(/HTTP 413/), isOfCall: true },
    });
  });

  it("go out in requests of a hundred, in order, whatever the node answers to single transactions", async () => {
    const { node, rpc } = await start();
    const sizes: number[] = [];
    node.script = ({ raws: sent }) => {
      sizes.push(sent.length);
      return { kind: "error", of: (raw) => (places([raw])[0] === 99 ? REFUSED : NOT_TAKEN) };
    };
    const outcomes = await send(rpc, raws(250));
    expect(outcomes).toMatchObject(upTo(250).map((i) => ({ error: i === 99 ? REFUSED : NOT_TAKEN })));
    expect(sizes).toEqual([100, 100, 50]);
    expect(places(node.sent)).toEqual(upTo(250));
  });

  it("go on past one that fails alone, and all others are answered", async () => {
    const { node, rpc } = await start();
    node.script = ({ raws: sent }) =>
      places(sent).includes(100)
        ? { kind: "answer", status: 502, body: "" }
        : { kind: "error", of: () => NOT_TAKEN };
    const outcomes = await send(rpc, raws(250));
    const others = outcomes.filter((_, i) => i !== 100);
    expect(others).toMatchObject(Array(249).fill({ error: NOT_TAKEN }));
    expect(outcomes[100]).toMatchObject({ error: { isOfCall: true, sent: "unknown" } });
    const requestsWith = (place: number) => node.sent.filter((raw) => places([raw])[0] === place).length;
    expect([outcomes[99]?.requests, outcomes[100]?.requests]).toEqual([1, requestsWith(100)]);
  });

  it("end where the node answers nothing else, so that later ones do not arrive first", async () => {
    const { node, rpc } = await start();
    let isAway = false;
    node.script = ({ raws: sent }) => {
      isAway ||= places(sent).includes(100);
      return isAway ? { kind: "answer", status: 502, body: "" } : { kind: "error", of: () => NOT_TAKEN };
    };
    const outcomes = (await send(rpc, raws(250))).map(kindOf);
    expect(outcomes.slice(0, 100)).toEqual(Array(100).fill("answered"));
    expect(outcomes).not.toContain("result");
    expect(places(node.sent).filter((place) => place >= 200)).toEqual([]);
    expect(outcomes.slice(200)).toEqual(Array(50).fill("unavailable, sent: no"));
  });

  it("that are answered in part go again in smaller requests, and nothing overtakes them", async () => {
    const { node, rpc } = await start();
    node.script = ({ raws: sent }) =>
      sent.length > 30 ? { kind: "partial", answered: 30 } : { kind: "error", of: () => NOT_TAKEN };
    const outcomes = await send(rpc, raws(150));
    expect(outcomes.map(kindOf)).toEqual(Array(150).fill("answered"));
    expect(places(node.sent).indexOf(149)).toBeGreaterThan(places(node.sent).lastIndexOf(99));
  });

  it("that time out go again in eighths, because each time-out costs its whole time", async () => {
    let nowMs = 0;
    vi.spyOn(performance, "now").mockImplementation(() => nowMs);
    const { node, rpc } = await start({}, 200);
    const sizes: number[] = [];
    node.script = ({ raws: sent }) => {
      if (sent.length > 0) sizes.push(sent.length);
      if (sent.length <= 30) return { kind: "error", of: () => NOT_TAKEN };
      nowMs += 1_000;
      return { kind: "silence", carriedOut: false };
    };
    expect((await send(rpc, raws(100))).map(kindOf)).toEqual(Array(100).fill("unavailable, sent: unknown"));
    expect((await send(rpc, raws(100))).map(kindOf)).toEqual(Array(100).fill("answered"));
    expect(sizes).toEqual([100, ...Array(7).fill(13), 9]);
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
    expect(node.requests).toEqual({ all: 13, refused: 4 });
    await client.nonces(addresses);
    expect(node.requests).toEqual({ all: 22, refused: 4 });
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

  it("of a snapshot go in few requests, between the nonces", async () => {
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
    const inOrder = ["nonce", ...Array(20).fill("receipt"), "nonce"];
    expect(methods.join(" ").split(" ")).toEqual(inOrder);
    expect(methods).toHaveLength(4);
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
      // Asked whether the node answers anything.
      if (method !== "eth_blockNumber") methods.push(method.endsWith("Receipt") ? "receipt" : "nonce");
      return undefined;
    };
    expect(await client.snapshot([waiver], hashes)).toEqual(SNAPSHOT);
    expect(methods).toEqual(["nonce", ...Array(20).fill("receipt"), "nonce"]);
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
