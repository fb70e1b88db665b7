import type { Hex } from "@gas-waiver/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import WebSocket from "ws";
import { addressOf, createTestNode, hashOf, signInner, wrap } from "../../test/support/testNode.js";
import { useTestNode } from "../../test/support/useTestNode.js";
import type { FaultSettings } from "./faultSettings.js";
import { createRequestLimit } from "./requestLimit.js";

const node = useTestNode();
let url: string;
beforeEach(async () => {
  ({ url } = await node.devnet.listen({ port: 0 }));
});

const set = (faults: unknown) => node.rpc("devnet_setFaults", faults);
const waiting = async () => (await status()).pool.waiting;

interface Status {
  readonly pool: { readonly waiting: number; readonly kind: string };
  readonly mining: { readonly stopped: boolean };
  readonly head: { readonly number: number };
  readonly faults: {
    readonly active: boolean;
    readonly settings: FaultSettings;
    readonly exchanges: number;
    readonly calls: number;
    readonly struck: Record<string, number>;
  };
}
const status = () => node.rpc<Status>("devnet_status");

const request = (method: string, ...params: unknown[]) => ({ jsonrpc: "2.0", id: 1, method, params });
const post = (body: unknown, signal?: AbortSignal) =>
  fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
const send = (nonce = 0n) => request("eth_sendRawTransaction", wrap(signInner(0, { nonce }), { nonce }));

/** Describes the outcome of an exchange. */
async function outcomeOf(body: unknown, signal?: AbortSignal): Promise<string> {
  try {
    const response = await post(body, signal);
    const text = await response.text();
    try {
      const { error } = JSON.parse(text);
      return error === undefined ? "answer" : `error ${error.code}: ${error.message}`;
    } catch {
      return `${response.status} ${text}`;
    }
  } catch (error) {
    const { name, cause } = error as Error & { cause?: { code?: string } };
    return cause?.code ?? name;
  }
}

/** The time that a test waits for a response that must not come, after the fault struck. */
const GIVE_UP_AFTER_MS = 200;

/** Describes the outcome of a send that this fault strikes. The client gives up if no response comes. */
async function outcomeOfSendStruckBy(fault: string): Promise<string> {
  const giveUp = new AbortController();
  const ended = outcomeOf(send(), giveUp.signal);
  while ((await status()).faults.struck[fault] === undefined) await new Promise(setImmediate);
  setTimeout(() => giveUp.abort(), GIVE_UP_AFTER_MS);
  return ended;
}

describe("an exchange that fails", () => {
  const endings = {
    drop: "AbortError",
    reset: "ECONNRESET",
    http500: "500 internal server error",
    http429: "429 too many requests",
    garbage: expect.stringMatching(/^200 <html>/),
    empty: "200 ",
  } as const;

  it.each(Object.entries(endings))("%s: the node does not execute the request", async (name, expected) => {
    await set({ [name]: 1 });
    expect(await outcomeOfSendStruckBy(name)).toEqual(expected);
    expect(await waiting()).toBe(0);
    await node.rpc("devnet_clearFaults");
    expect(await outcomeOf(send())).toBe("answer");
  });

  it.each([
    ["afterDrop", endings.drop],
    ["afterReset", endings.reset],
    ["afterHttp500", endings.http500],
    ["afterGarbage", endings.garbage],
    ["afterEmpty", endings.empty],
  ])("%s: the node executes the request", async (name, expected) => {
    await set({ [name]: 1 });
    expect(await outcomeOfSendStruckBy(name)).toEqual(expected);
    expect(await waiting()).toBe(1);
    await set({});
    expect(await outcomeOf(send())).toMatch(/^error -32000: already known/);
  });

  it("partReset: the node executes the first requests of a batch", async () => {
    await set({ partReset: 1, seed: 3 });
    const batch = Array.from({ length: 20 }, (_, i) => send(BigInt(i)));
    expect(await outcomeOf(batch)).toBe("ECONNRESET");
    const executed = await waiting();
    expect(executed).toBeGreaterThan(0);
    expect(executed).toBeLessThan(20);
    await node.devnet.mine();
    expect(await node.nonce(10)).toBe(BigInt(executed));
  });

  it("afterDrop: a waiting client does not keep the node from closing", async () => {
    await set({ afterDrop: 1, delay: 1, delayMs: [0, 0] });
    const waits = post(send()).then(
      () => "answered",
      () => "cut",
    );
    while ((await waiting()) === 0) await new Promise(setImmediate);
    await node.devnet.close();
    expect(await waits).toBe("cut");
  });

  it("delay: the response comes later", async () => {
    await set({ delay: 1, delayMs: [80, 90] });
    const since = performance.now();
    await (await post(send())).json();
    expect(performance.now() - since).toBeGreaterThan(79);
    expect((await status()).faults.struck).toEqual({ delay: 1 });
  });

  it("affects the named methods, and never the controls", async () => {
    await set({ reset: 1, methods: ["eth_blockNumber"] });
    expect(await outcomeOf(send())).toBe("answer");
    expect(await outcomeOf(request("eth_blockNumber"))).toBe("ECONNRESET");
    await set({ reset: 1, error: 1, methods: ["*"] });
    for (const control of ["devnet_status", "evm_mine", "anvil_mine"]) {
      expect(await outcomeOf(request(control))).toBe("answer");
    }
    const mixed = await (await post([request("eth_blockNumber"), request("devnet_status")])).json();
    expect(mixed).toMatchObject([{ error: { code: -32603 } }, { result: { chainId: 2201 } }]);
  });
});

describe("a call that fails", () => {
  it("error: the node does not take the transaction; afterError: it does", async () => {
    await set({ error: 1 });
    expect(await outcomeOf(send())).toBe("error -32603: internal error");
    expect(await waiting()).toBe(0);
    await set({ afterError: 1 });
    expect(await outcomeOf(send())).toBe("error -32603: internal error");
    expect(await waiting()).toBe(1);
  });

  it("forget: the client gets the hash, and the transaction leaves the pool without a trace", async () => {
    await set({ forget: 1 });
    const raw = wrap(signInner(0));
    const answer = await (await post(request("eth_sendRawTransaction", raw))).json();
    expect(answer).toMatchObject({ result: hashOf(raw) });
    await node.devnet.mine();
    expect(await node.nonce(10)).toBe(0n);
    expect(node.devnet.drops()).toEqual([]);
    await set({});
    await node.sendAndMine(raw);
    expect(await node.nonce(10)).toBe(1n);
  });

  it.each([
    ["alreadyKnown", /^error -32000: already known: 0x[0-9a-f]{64} is in the pool$/],
    ["nonceTooLow", /^error -32000: nonce too low: next nonce 8, tx nonce 7$/],
    ["underpriced", /^error -32000: replacement transaction underpriced: /],
  ] as const)(
    "%s: the next sends get this error, whether the node takes the transaction or not",
    async (name, wording) => {
      await set({ [name]: 2 });
      for (let i = 0; i < 2; i++) expect(await outcomeOf(send(7n))).toMatch(wording);
      expect(await waiting()).toBe(0);
      expect((await status()).faults).toMatchObject({ active: true, struck: { [name]: 2 } });
      expect(await outcomeOf(send(6n))).toBe("answer");

      await set({ [`after${name.slice(0, 1).toUpperCase()}${name.slice(1)}`]: 1 });
      expect(await outcomeOf(send(7n))).toMatch(wording);
      expect(await waiting()).toBe(2);
      expect(await outcomeOf(send(8n))).toBe("answer");
    },
  );

  it("words nonce errors as the kind of pool does", async () => {
    const strict = await createTestNode({ pool: "strict", faults: { nonceTooLow: 1 } });
    ({ url } = await strict.devnet.listen({ port: 0 }));
    expect(await outcomeOf(send(0n))).toBe(
      "error -32000: invalid nonce; got 0, expected 1: invalid sequence",
    );
    expect(await outcomeOf(send(0n))).toBe("answer");
    await strict.devnet.close();
  });

  it("does not replace the node's own refusals", async () => {
    await set({ afterAlreadyKnown: 1 });
    const refused = request("eth_sendRawTransaction", wrap(signInner(0), { waiver: 12 }));
    expect(await outcomeOf(refused)).toMatch(/is not a registered waiver$/);
  });
});

describe("the seed", () => {
  async function run(seed: number): Promise<string[]> {
    await node.rpc("devnet_evictPool");
    await set({ seed, reset: 0.2, http429: 0.1, error: 0.2, forget: 0.1, afterError: 0.1 });
    const endings: string[] = [];
    for (let nonce = 0n; nonce < 30n; nonce++) endings.push(await outcomeOf(send(nonce)));
    return [...endings, JSON.stringify((await status()).faults.struck)];
  }

  it("repeats a run, and another seed gives another run", async () => {
    const first = await run(7);
    expect(new Set(first).size).toBeGreaterThan(4);
    expect(await run(7)).toEqual(first);
    expect(await run(8)).not.toEqual(first);
  });

  it("makes a fault strike in its share of the exchanges", async () => {
    await set({ seed: 1, empty: 0.25, methods: ["eth_chainId"] });
    for (let i = 0; i < 400; i++) await outcomeOf(request("eth_chainId"));
    const { exchanges, struck } = (await status()).faults;
    expect(exchanges).toBe(400);
    expect(struck.empty).toBeGreaterThan(75);
    expect(struck.empty).toBeLessThan(125);
  });
});

describe("the controls", () => {
  it("evict transactions from the pool: some, drawn from the seed, or all", async () => {
    const raws = Array.from({ length: 6 }, (_, i) =>
      wrap(signInner(0, { nonce: BigInt(i) }), { nonce: BigInt(i) }),
    );
    for (const raw of raws) await node.send(raw);
    const evicted = await node.rpc<Hex[]>("devnet_evictPool", 2);
    expect(evicted).toHaveLength(2);
    expect(raws.map(hashOf)).toEqual(expect.arrayContaining(evicted));
    expect(await node.rpc("eth_getTransactionByHash", evicted[0])).toBeNull();
    expect(await node.rpc("devnet_evictPool", "all")).toHaveLength(4);
    expect(await waiting()).toBe(0);
    await expect(node.rpc("devnet_evictPool", -1)).rejects.toThrow(/^the count is -1, not a whole number/);
  });

  it("stop and resume mining; evm_mine still makes a block", async () => {
    const busy = await createTestNode({ automine: true });
    await busy.rpc("devnet_stopMining");
    await busy.send(wrap(signInner(0)));
    expect(await busy.nonce(10)).toBe(0n);
    expect(await busy.rpc<Status>("devnet_status")).toMatchObject({
      mining: { stopped: true },
      pool: { waiting: 1 },
    });
    await busy.rpc("devnet_resumeMining");
    expect(await busy.nonce(10)).toBe(1n);
    await busy.rpc("devnet_stopMining");
    await busy.rpc("evm_mine");
    expect((await busy.rpc<Status>("devnet_status")).head.number).toBe(2);
    await busy.devnet.close();
  });

  it("cut WebSockets, whose messages faults strike as well", async () => {
    const open = async () => {
      const socket = new WebSocket(url.replace("http", "ws"));
      await new Promise((resolve) => socket.once("open", resolve));
      const closed = new Promise<number>((resolve) => socket.once("close", resolve));
      return { socket, closed };
    };
    const [one, two] = [await open(), await open()];
    expect(await node.rpc("devnet_cutSockets")).toBe(2);
    expect([await one.closed, await two.closed]).toEqual([1006, 1006]);
    expect(await node.rpc("devnet_cutSockets")).toBe(0);

    await set({ cutSockets: 1 });
    const cut = await open();
    await node.devnet.mine();
    expect(await cut.closed).toBe(1006);

    await set({ afterReset: 1 });
    const three = await open();
    three.socket.send(JSON.stringify(send()));
    expect(await three.closed).toBe(1006);
    expect(await waiting()).toBe(1);
  });

  it("show the whole status in devnet_status", async () => {
    await set({ drop: 0.5, seed: 9, nonceTooLow: 3 });
    await outcomeOfSendStruckBy("drop");
    expect(await status()).toEqual({
      chainId: 2201,
      genesis: expect.stringMatching(/^0x/),
      head: { number: 0, hash: expect.stringMatching(/^0x/) },
      mining: { stopped: false, blockTimeMs: 0, automine: false },
      pool: { kind: "queued", waiting: 0 },
      stateDir: null,
      faults: {
        active: true,
        settings: { drop: 0.5, seed: 9, nonceTooLow: expect.any(Number) },
        exchanges: 1,
        calls: expect.any(Number),
        struck: expect.any(Object),
        registry: [],
      },
    });
    await node.rpc("devnet_clearFaults");
    expect((await status()).faults).toMatchObject({ active: false, settings: {}, struck: {} });
  });

  it("report every problem of invalid settings", async () => {
    const wrong = {
      drop: 2,
      reset: "often",
      delayMs: [9, 1],
      seed: -1,
      alreadyKnown: 0.5,
      nope: 1,
      methods: [],
      revoke: [{ waiver: addressOf(10) }],
    };
    const problem = await set(wrong).catch((error: Error) => error.message);
    for (const name of Object.keys(wrong)) expect(problem).toMatch(new RegExp(`\\b${name} is `));
    await expect(set({ drop: 0.7, reset: 0.7 })).rejects.toThrow(
      /drop, reset exclude each other, and their shares add up to 1\.4, more than 1$/,
    );
    await expect(set({ drop: 1, methods: ["eth_sendRaw", "devnet_status"] })).rejects.toThrow(
      'methods has "eth_sendRaw", which is not a method of this node; methods has devnet_status, which steers the node',
    );
    expect((await status()).faults.active).toBe(false);
  });
});

describe("a limit on requests", () => {
  const statusOf = async (body: unknown) => {
    const response = await post(body);
    await response.arrayBuffer();
    return [response.status, response.headers.get("retry-after")];
  };

  it("refuses what is above it in a window, a batch as one request, with the time to wait", async () => {
    await set({ rateLimit: 2, rateWindowMs: 60_000 });
    expect(await statusOf([request("eth_chainId"), request("eth_gasPrice"), send()])).toEqual([200, null]);
    expect(await statusOf(request("eth_chainId"))).toEqual([200, null]);
    expect(await statusOf(request("eth_chainId"))).toEqual([429, "60"]);
    expect(await statusOf(request("evm_mine"))).toEqual([200, null]);
    expect((await status()).faults.struck).toEqual({ rateLimit: 1 });
  });
});

describe("createRequestLimit", () => {
  it("counts each address in windows of its own", () => {
    const limit = createRequestLimit(1, 1_000);
    expect([limit("a", 0), limit("b", 500), limit("a", 999)]).toEqual([undefined, undefined, 1]);
    expect([limit("b", 1_000), limit("a", 1_000), limit("b", 1_500)]).toEqual([1, undefined, undefined]);
  });
});
