import { afterEach, describe, expect, it, vi } from "vitest";
import { type Misbehaviour, ScriptedNode } from "../../../test/support/scriptedNode.js";
import { EndpointHeads } from "./endpointHeads.js";
import { createRequestPaces } from "./requestPace.js";
import { createRpc, NodeRpcError, type RpcOptions, type RpcOutcome, RpcUnavailableError } from "./rpc.js";

const nodes: ScriptedNode[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all(nodes.splice(0).map((node) => node.close()));
});

const HEIGHT = { method: "eth_blockNumber", params: [] };
const SEND = { method: "eth_sendRawTransaction", params: ["0x12"] };

/** Starts nodes that count their calls, and a client of them. */
async function startNodes(
  count: number,
  rpcTimeoutMs = 20_000,
  others: Pick<RpcOptions, "heads" | "paces"> = {},
) {
  const requests: string[][] = [];
  const scripts: (Misbehaviour | undefined)[] = [];
  for (let i = 0; i < count; i++) {
    const node = await ScriptedNode.start();
    nodes.push(node);
    requests.push([]);
    node.script = ({ methods }) => {
      requests[i]?.push(...methods);
      return scripts[i];
    };
  }
  const ending = new AbortController();
  const rpcUrls = nodes.map(({ url }) => url);
  const rpc = createRpc({ rpcUrls, rpcTimeoutMs, signal: ending.signal, ...others });
  /** Returns the number of calls to each node since the last time. */
  const counts = () => requests.map((methods) => methods.splice(0).length);
  /** Tells of each node whether it works. One of them at least does. */
  const working = async () => {
    counts();
    await rpc.readFromEach([HEIGHT]);
    return counts().map((count) => count > 0);
  };
  return { rpc, scripts, counts, ending, working };
}

const accepted: Misbehaviour = { kind: "answer", status: 200, body: '{"id":0,"result":"0x1"}' };

/** Names the kind of an outcome. */
function kindOf(outcome: RpcOutcome | undefined): string {
  if (outcome === undefined) return "nothing";
  if (!("error" in outcome)) return "result";
  return outcome.error instanceof RpcUnavailableError ? `unavailable, sent: ${outcome.error.sent}` : "error";
}

const BAD: readonly (readonly [string, Misbehaviour])[] = [
  ["500", { kind: "answer", status: 500, body: "Internal Server Error" }],
  ["an answer that is not JSON", { kind: "answer", status: 200, body: "<html>" }],
  ["an answer with an unknown id", { kind: "answer", status: 200, body: '{"id":7,"result":"0x1"}' }],
  ["a reset", { kind: "reset", carriedOut: false }],
  ["silence", { kind: "silence", carriedOut: false }],
];
/** The client's time-out in ms. Only silence needs a short one. */
const timeoutFor = ({ kind }: Misbehaviour) => (kind === "silence" ? 500 : undefined);
const RATE_LIMITED: readonly (readonly [string, Misbehaviour])[] = [
  ["429", { kind: "answer", status: 429, body: "Too Many Requests" }],
  [
    "429 with a JSON-RPC error",
    { kind: "answer", status: 429, body: '{"id":0,"error":{"code":-32005,"message":"slow down"}}' },
  ],
  [
    "429 with an error of the whole batch",
    { kind: "answer", status: 429, body: '{"id":null,"error":{"code":-32005,"message":"slow down"}}' },
  ],
];

describe("a read", () => {
  it("calls the first node only, while it is healthy", async () => {
    const { rpc, counts } = await startNodes(2);
    expect((await rpc.read([HEIGHT])).map(kindOf)).toEqual(["result"]);
    expect(counts()).toEqual([1, 0]);
  });

  it.each([...BAD, ...RATE_LIMITED])("goes on to the next node after %s", async (_, bad) => {
    const { rpc, scripts, counts, working } = await startNodes(2, timeoutFor(bad));
    scripts[0] = bad;
    expect((await rpc.read([HEIGHT])).map(kindOf)).toEqual(["result"]);
    expect(counts()).toEqual([1, 1]);
    expect(await working()).toEqual([false, true]);
  });

  it.each([429, 503])(
    "asks the next node for as long as the first asks for silence by %i",
    async (status) => {
      const { rpc, scripts, counts } = await startNodes(2, 600_000);
      scripts[0] = { kind: "answer", status, body: "", headers: { "retry-after": "50" } };
      scripts[1] = accepted;
      await rpc.read([HEIGHT]);
      const now = performance.now.bind(performance);
      // The rest after the failure is over, and the silence is not.
      vi.spyOn(performance, "now").mockImplementation(() => now() + 20_000);
      expect([...(await rpc.read([HEIGHT])), ...(await rpc.send([SEND]))].map(kindOf)).toEqual([
        "result",
        "result",
      ]);
      expect(counts()).toEqual([1, 3]);
    },
  );

  it("goes first to the node that a client of the gateway has made ask for silence", async () => {
    const paces = createRequestPaces(0);
    const { rpc, scripts, counts, ending } = await startNodes(2, 600_000, { paces });
    const rpcUrls = nodes.map(({ url }) => url);
    const ofGateway = createRpc({
      ...{ rpcUrls, rpcTimeoutMs: 600_000, signal: ending.signal, paces, readPriority: "gateway" },
    });
    scripts[0] = { kind: "answer", status: 429, body: "", headers: { "retry-after": "50" } };
    await ofGateway.read([HEIGHT]);
    scripts[0] = accepted;
    counts();
    await ofGateway.read([HEIGHT]);
    expect(counts()).toEqual([0, 1]);
    await rpc.send([SEND]);
    await rpc.sendToOthers([SEND], 1);
    expect(counts()).toEqual([2, 0]);
  });

  it("is followed by no probe that the node has asked to leave out", async () => {
    const { rpc, scripts, counts } = await startNodes(1);
    scripts[0] = { kind: "answer", status: 429, body: "", headers: { "retry-after": "50" } };
    await rpc.read([HEIGHT]);
    scripts[0] = { kind: "answer", status: 500, body: "" };
    counts();
    const calls = ["0x1", "0x2"].map((one) => ({ method: "eth_getTransactionByHash", params: [one] }));
    await rpc.read(calls);
    expect(counts()).toEqual([2]);
  });

  it("goes out once more where a gateway met a backend that is away, and a send counts both requests", async () => {
    const { rpc, scripts, counts } = await startNodes(1);
    const away: Misbehaviour = { kind: "answer", status: 502, body: "" };
    let requests = 0;
    Object.defineProperty(scripts, 0, { get: () => (requests++ % 2 === 0 ? away : accepted) });
    expect([...(await rpc.read([HEIGHT])), ...(await rpc.send([SEND]))]).toMatchObject([
      { result: "0x1" },
      { result: "0x1", requests: 2 },
    ]);
    expect(counts()).toEqual([4]);
  });

  it("goes out once there where the rate of requests leaves no room for another", async () => {
    const { rpc, scripts, counts } = await startNodes(2, 20_000, { paces: createRequestPaces(1) });
    scripts[0] = { kind: "answer", status: 503, body: "" };
    expect((await rpc.read([HEIGHT])).map(kindOf)).toEqual(["result"]);
    expect(counts()).toEqual([1, 1]);
  });

  it("goes on after a refused connection, and reports it when no node answers", async () => {
    const { rpc } = await startNodes(2);
    await nodes[0]?.close();
    expect((await rpc.read([HEIGHT])).map(kindOf)).toEqual(["result"]);
    await nodes[1]?.close();
    expect((await rpc.read([HEIGHT])).map(kindOf)).toEqual(["unavailable, sent: no"]);
  });

  it("returns a node's error as the answer", async () => {
    const { rpc, counts, working } = await startNodes(2);
    const [outcome] = await rpc.read([{ method: "eth_nope", params: [] }]);
    expect(outcome).toMatchObject({ error: expect.any(NodeRpcError) });
    expect(counts()).toEqual([1, 0]);
    expect(await working()).toEqual([true, true]);
  });

  it("without calls goes to no node", async () => {
    const { rpc, counts } = await startNodes(1);
    expect([await rpc.read([]), await rpc.send([])]).toEqual([[], []]);
    expect(counts()).toEqual([0]);
  });
});

describe("a send", () => {
  it("goes to the next node where one answers it with something else than it asks for, and counts both requests", async () => {
    const { rpc, scripts, counts } = await startNodes(2);
    const call = { ...SEND, isTold: (answer: RpcOutcome) => "error" in answer || answer.result === "0x1" };
    scripts[0] = { kind: "answer", status: 200, body: '{"id":0,"result":1}' };
    scripts[1] = accepted;
    expect(await rpc.send([call])).toMatchObject([{ result: "0x1", requests: 2 }]);
    expect(counts()).toEqual([1, 1]);
    scripts[1] = scripts[0];
    expect(await rpc.send([call])).toMatchObject([{ result: 1, requests: 2 }]);
    scripts[0] = { kind: "answer", status: 200, body: '{"id":0,"error":{"code":-32000,"message":"no"}}' };
    expect((await rpc.send([call])).map(kindOf)).toEqual(["error"]);
  });

  it.each(BAD)("is not repeated after %s, since the node may have it", async (_, bad) => {
    const { rpc, scripts, counts } = await startNodes(2, timeoutFor(bad));
    scripts[0] = bad;
    expect((await rpc.send([SEND, SEND])).map(kindOf)).toEqual(Array(2).fill("unavailable, sent: unknown"));
    // The third call asks whether the node answers anything else.
    expect(counts()).toEqual([3, 0]);
  });

  it.each(RATE_LIMITED)(
    "goes on to the next node after %s, since this one surely does not have it",
    async (_, bad) => {
      const { rpc, scripts, counts } = await startNodes(2);
      scripts[0] = bad;
      scripts[1] = accepted;
      expect((await rpc.send([SEND])).map(kindOf)).toEqual(["result"]);
      expect(counts()).toEqual([1, 1]);
    },
  );

  it("goes on after a refused connection, and without another node was surely not sent", async () => {
    const { rpc, scripts, counts } = await startNodes(2);
    scripts[1] = accepted;
    await nodes[0]?.close();
    expect((await rpc.send([SEND])).map(kindOf)).toEqual(["result"]);
    expect(counts()).toEqual([0, 1]);
  });

  it("counts the requests that may have reached a node: none by a refused connection, one more by a kept one that is reset", async () => {
    const { rpc, scripts } = await startNodes(2);
    scripts[1] = accepted;
    await nodes[0]?.close();
    expect(await rpc.send([SEND])).toMatchObject([{ result: "0x1", requests: 1 }]);
    scripts[1] = { kind: "reset", carriedOut: false };
    const [afterReset] = await rpc.send([SEND]);
    expect([kindOf(afterReset), afterReset?.requests]).toEqual(["unavailable, sent: unknown", 2]);
    await nodes[1]?.close();
    const [refused] = await rpc.send([SEND]);
    expect([kindOf(refused), refused?.requests]).toEqual(["unavailable, sent: no", 0]);
  });

  it("that is answered in part has an outcome for each call; the others go again, and the node stays healthy", async () => {
    const { rpc, scripts, counts, working } = await startNodes(2);
    const body = '[{"id":2,"result":"0x3"},{"id":0,"error":{"code":-32000,"message":"already known"}}]';
    scripts[0] = { kind: "answer", status: 200, body };
    scripts[1] = { kind: "answer", status: 200, body: '{"id":1,"result":"0x2"}' };
    const outcomes = await rpc.send(["0x12", "0x34", "0x56"].map((raw) => ({ ...SEND, params: [raw] })));
    expect(outcomes.map(kindOf)).toEqual(["error", "result", "result"]);
    expect(outcomes.map(({ requests }) => requests)).toEqual([1, 3, 1]);
    expect(counts()).toEqual([4, 1]);
    expect(await working()).toEqual([true, true]);
  });
});

describe("a node that answers nothing and rests", () => {
  it("is asked neither for what another has answered, nor for a decision by each", async () => {
    let nowMs = 1_000_000;
    vi.spyOn(performance, "now").mockImplementation(() => nowMs);
    const { rpc, scripts, counts } = await startNodes(2);
    const disputed = { ...SEND, isTold: (answer: RpcOutcome) => !("error" in answer) };
    scripts[0] = { kind: "answer", status: 200, body: '{"id":0,"error":{"code":-32000,"message":"no"}}' };
    scripts[1] = { kind: "reset", carriedOut: false };
    const ask = async () => {
      const sent = await rpc.send([disputed]);
      await rpc.readFromEach([HEIGHT]);
      return [...sent.map(kindOf), ...counts()];
    };
    // The second node is also asked whether it answers anything else.
    expect(await ask()).toEqual(["error", 2, 2]);
    expect(await ask()).toEqual(["error", 2, 0]);
    nowMs += 1_000;
    scripts[1] = accepted;
    expect(await ask()).toEqual(["result", 2, 2]);
  });

  it("is asked for a decision by each where every other rests too", async () => {
    const { rpc, scripts, counts } = await startNodes(2);
    scripts[0] = scripts[1] = { kind: "answer", status: 500, body: "" };
    await rpc.readFromEach([HEIGHT]);
    expect(await rpc.readFromEach([HEIGHT])).toHaveLength(2);
    expect(counts()).toEqual([2, 2]);
  });
});

describe("what the first node may have lost", () => {
  it("goes to the others that work", async () => {
    const { rpc, scripts, counts } = await startNodes(3);
    scripts[0] = { kind: "reset", carriedOut: false };
    await rpc.read([HEIGHT]);
    counts();
    scripts[2] = accepted;
    await rpc.sendToOthers([SEND]);
    expect(counts()).toEqual([0, 0, 1]);
  });

  it("goes to the first one too, where another gets the sends before it", async () => {
    const { rpc, scripts, counts } = await startNodes(3);
    scripts[0] = scripts[2] = accepted;
    await rpc.sendToOthers([SEND], 1);
    expect(counts()).toEqual([1, 0, 1]);
  });
});

describe("a node that failed", () => {
  it("rests while another is healthy, twice as long each time, and is called again after that", async () => {
    let nowMs = 1_000_000;
    vi.spyOn(performance, "now").mockImplementation(() => nowMs);
    const { rpc, scripts, counts } = await startNodes(2);
    const read = async () => {
      await rpc.read([HEIGHT]);
      return counts();
    };
    scripts[0] = { kind: "answer", status: 500, body: "" };
    expect(await read()).toEqual([1, 1]);
    nowMs += 999;
    expect(await read()).toEqual([0, 1]);
    nowMs += 1;
    expect(await read()).toEqual([1, 1]);
    nowMs += 1_999;
    expect(await read()).toEqual([0, 1]);
    nowMs += 1;
    scripts[0] = undefined;
    expect(await read()).toEqual([1, 0]);
    scripts[0] = { kind: "answer", status: 500, body: "" };
    expect(await read()).toEqual([1, 1]);
    nowMs += 1_000;
    expect(await read()).toEqual([1, 1]);
  });

  it("is called all the same when every other rests", async () => {
    const { rpc, scripts, counts } = await startNodes(2);
    scripts[0] = scripts[1] = { kind: "answer", status: 500, body: "" };
    expect((await rpc.read([HEIGHT])).map(kindOf)).toEqual(["unavailable, sent: unknown"]);
    expect(counts()).toEqual([1, 1]);
    scripts[0] = scripts[1] = undefined;
    expect((await rpc.read([HEIGHT])).map(kindOf)).toEqual(["result"]);
  });
});

describe("a node that is behind", () => {
  const at = (height: number) => ({ number: BigInt(height), timestamp: 0 });

  it("gets neither reads nor sends, also when the other does not answer", async () => {
    const heads = new EndpointHeads(2);
    const { rpc, scripts, counts } = await startNodes(2, 20_000, { heads });
    heads.observe(0, at(10_000), 0);
    for (const now of [0, 5_000]) heads.observe(1, at(100), now);
    scripts[0] = { kind: "answer", status: 429, body: "" };
    expect([...(await rpc.read([HEIGHT])), ...(await rpc.send([SEND]))].map(kindOf)).toEqual(
      Array(2).fill("unavailable, sent: no"),
    );
    expect(counts()).toEqual([2, 0]);
  });

  it("is asked again when it has caught up", async () => {
    const heads = new EndpointHeads(2);
    const { rpc, counts } = await startNodes(2, 20_000, { heads });
    heads.observe(1, at(10_000), 0);
    for (const now of [0, 5_000]) heads.observe(0, at(100), now);
    await rpc.read([HEIGHT]);
    heads.observe(0, at(10_001), 5_001);
    await rpc.read([HEIGHT]);
    expect(counts()).toEqual([1, 1]);
  });
});

describe("a node whose last two polls were slow", () => {
  it("is asked after the others, until a poll is fast", async () => {
    const heads = new EndpointHeads(2);
    const { rpc, counts } = await startNodes(2, 20_000, { heads });
    const poll = (place: number, tookMs: number) =>
      heads.observe(place, { number: 1n, timestamp: 0 }, 0, tookMs);
    const askedAfter = async (tookMs: number) => {
      poll(0, tookMs);
      await rpc.read([HEIGHT]);
      return counts();
    };
    poll(1, 10);
    expect([await askedAfter(1_500), await askedAfter(1_500), await askedAfter(20)]).toEqual([
      [1, 0],
      [0, 1],
      [1, 0],
    ]);
    for (const place of [0, 0, 1, 1]) poll(place, 1_500);
    await rpc.read([HEIGHT]);
    expect(counts()).toEqual([1, 0]);
  });
});

describe("a node on another chain", () => {
  it("is not asked even if it is the only one, and the calls were surely not sent", async () => {
    const heads = new EndpointHeads(1);
    const { rpc, counts } = await startNodes(1, 20_000, { heads });
    heads.refuse(0);
    expect((await rpc.send([SEND])).map(kindOf)).toEqual(["unavailable, sent: no"]);
    expect(counts()).toEqual([0]);
  });
});

describe("the end of the service", () => {
  it("aborts the calls in flight, and calls no other node", async () => {
    const { rpc, scripts, counts, ending } = await startNodes(2, 60_000);
    scripts[0] = { kind: "silence", carriedOut: false };
    const reading = rpc.read([HEIGHT]);
    await nodes[0]?.nextCall("eth_blockNumber");
    ending.abort();
    expect((await reading).map(kindOf)).toEqual(["unavailable, sent: unknown"]);
    expect(counts()).toEqual([1, 0]);
  });
});

describe("the text of a node", () => {
  it("is cut, and has no control characters: it goes into logs, lines and the store", async () => {
    const { rpc, scripts } = await startNodes(1);
    const message = `no\u0000pe\u001b[31m ${"x".repeat(100_000)}`;
    const body = JSON.stringify({ id: 0, error: { code: -32_000, message } });
    scripts[0] = { kind: "answer", status: 200, body };
    const [outcome] = await rpc.send([SEND]);
    if (outcome === undefined || !("error" in outcome)) throw new Error("no error came");
    expect(outcome.error.message).toMatch(/^no pe \[31m x{100,}…$/);
    expect(outcome.error.message.length).toBeLessThanOrEqual(501);
  });
});

describe("a client that bounds the answers that its own callers ask for", () => {
  it("counts a longer answer as no failure of the node, and asks no other node for it", async () => {
    const [first, second] = [await ScriptedNode.start(), await ScriptedNode.start()];
    nodes.push(first, second);
    first.answers.eth_getLogs = () => "x".repeat(2_000);
    const rpc = createRpc({
      rpcUrls: [first.url, second.url],
      rpcTimeoutMs: 20_000,
      signal: new AbortController().signal,
      maxResponseBytes: 1_000,
    });
    for (let i = 0; i < 2; i++) {
      const [outcome] = await rpc.read([{ method: "eth_getLogs", params: [] }]);
      expect(outcome).toMatchObject({ error: { cause: { name: "ResponseTooLargeError" } } });
    }
    expect([first.requests.all, second.requests.all]).toEqual([2, 0]);
    await rpc.readFromEach([HEIGHT]);
    expect([first.requests.all, second.requests.all]).toEqual([3, 1]);
  });
});
