// The check of nodes, against nodes over real HTTP that differ in one thing each.
import { readFileSync } from "node:fs";
import { type Hex, hexToBytes } from "@gas-waiver/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { RefusedByNode } from "../../test/support/modelChain.js";
import { ModelRegistry } from "../../test/support/modelRegistry.js";
import { ScriptedNode } from "../../test/support/scriptedNode.js";
import { NODE_CHECKS, type NodeFinding } from "./finding.js";
import { checkNodes, type PreflightOptions } from "./preflight.js";

const nodes: ScriptedNode[] = [];
afterEach(async () => {
  await Promise.all(nodes.splice(0).map((node) => node.close()));
});

const SENDER = `0x${"51".repeat(20)}` as const;
const WAIVER = `0x${"52".repeat(20)}` as const;

/** Starts a node whose chain has blocks up to 100 s ago, with a transaction in every tenth. */
async function startNode(chain?: ScriptedNode["chain"]): Promise<ScriptedNode> {
  const node = await ScriptedNode.start({ automine: false, ...(chain && { chain }) });
  nodes.push(node);
  if (chain !== undefined) return node;
  const start = Date.now();
  for (let i = 100; i >= 0; i--) {
    node.chain.now = () => start - i * 1_000;
    node.chain.mine();
    if (i % 10 === 0) node.chain.setNonce(SENDER, node.chain.nonceOf(SENDER) + 1n);
  }
  node.answers.eth_syncing = () => false;
  return node;
}

function check(checked: readonly ScriptedNode[], changes: Partial<PreflightOptions> = {}) {
  return checkNodes({
    rpcUrls: checked.map(({ url }) => url),
    chainId: 2201,
    reorgDepth: 0,
    waivers: [],
    readsRegistry: false,
    maxWrapperBytes: 131_072,
    rpcTimeoutMs: 60_000,
    ...changes,
  });
}

/** The findings that are not ok, as `check: verdict`. */
const troubles = (findings: readonly NodeFinding[]) =>
  findings.filter(({ verdict }) => verdict !== "ok").map((one) => `${one.check}: ${one.verdict}`);

describe("a node as the service needs it", () => {
  it("passes every check, of which each says what it found", async () => {
    const node = await startNode();
    const findings = await check([node]);
    expect(troubles(findings)).toEqual([]);
    const found = Object.fromEntries(findings.map((one) => [one.check, one.found]));
    expect(found).toMatchObject({
      chain: "chain 2201",
      batches: "takes 100 call(s) and 524288 bytes in one request",
      lookups: "transaction and receipt found, of block 101",
      history: "blocks are there 32 deep, states 32 deep; 32 were tried",
    });
  });

  it("is asked by reads alone", async () => {
    const node = await startNode();
    const methods = new Set<string>();
    node.script = (arrival) => {
      for (const method of arrival.methods) methods.add(method);
      return undefined;
    };
    await check([node], { waivers: [hexToBytes(WAIVER)], readsRegistry: true });
    expect(
      [...methods].filter((method) => !/^eth_(get|call$|chainId|syncing|estimateGas)/.test(method)),
    ).toEqual([]);
  });
});

/** Changes of a node, with the troubles that they make. */
const CASES: readonly (readonly [
  string,
  (node: ScriptedNode) => unknown,
  readonly string[],
  Partial<PreflightOptions>?,
])[] = [
  ["of another chain", (node) => (node.answers.eth_chainId = () => "0x1"), ["chain: refuses"]],
  [
    "that still syncs, behind",
    (node) => {
      node.answers.eth_syncing = () => ({ currentBlock: "0x10", highestBlock: "0x65" });
      node.chain.now = () => Date.now() - 3_600_000;
      node.chain.mine();
    },
    ["sync: refuses", "head: warning"],
  ],
  [
    "that only builds its index",
    (node) => (node.answers.eth_syncing = () => ({ currentBlock: "0x65", highestBlock: "0x65" })),
    ["sync: warning"],
  ],
  ["whose clock is wrong", (node) => (node.clockOffsetMs = 60_000), ["clock: warning"]],
  [
    "whose latest block is in the future",
    (node) => {
      node.chain.now = () => Date.now() + 60_000;
      node.chain.mine();
    },
    ["clock: warning"],
  ],
  ["that takes 10 calls at once", (node) => (node.limits = { ...node.limits, calls: 10 }), []],
  ["that takes no batches", (node) => (node.limits = { ...node.limits, calls: 1 }), ["batches: warning"]],
  [
    "behind a proxy that takes 128 KiB",
    (node) => (node.limits = { ...node.limits, bytes: 131_072 }),
    ["batches: warning"],
  ],
  [
    "without an index of receipts",
    (node) => (node.answers.eth_getTransactionReceipt = () => null),
    ["lookups: refuses"],
  ],
  [
    "without an index of transactions",
    (node) => (node.answers.eth_getTransactionByHash = () => null),
    ["lookups: refuses"],
  ],
  [
    "whose index is late by 20 s",
    (node) =>
      (node.answers.eth_getTransactionReceipt = (_, answer) => {
        const receipt = answer() as { blockNumber: Hex } | null;
        return receipt && Number(receipt.blockNumber) < 81 ? receipt : null;
      }),
    [],
  ],
  ["without the states of old blocks", (node) => (node.chain.statesFrom = 100), ["history: warning"]],
  [
    "that answers with the latest state for any block",
    (node) => (node.answers.eth_getTransactionCount = () => "0xb"),
    ["history: warning"],
  ],
  [
    "that keeps its first and last blocks alone, with reorgs 5 deep",
    (node) =>
      (node.answers.eth_getBlockByNumber = ([block], answer) =>
        /^0x/.test(String(block)) && Number(block) > 1 && Number(block) < 99 ? null : answer()),
    ["history: refuses"],
    { reorgDepth: 5 },
  ],
  [
    "whose final block is 64 below the head",
    (node) =>
      (node.answers.eth_getBlockByNumber = (params, answer) =>
        params[0] === "finalized"
          ? node.chain.read("eth_getBlockByNumber", [`0x${(101 - 64).toString(16)}`, false])
          : answer()),
    ["finality: warning"],
  ],
  [
    "that has pruned its first blocks",
    (node) =>
      (node.answers.eth_getBlockByNumber = ([block], answer) =>
        block === "0x0" || block === "0x1" ? null : answer()),
    ["chain: warning"],
  ],
];

describe("a node", () => {
  const cases = CASES.map(([kind, change, expected, options]) => ({ kind, change, expected, options }));
  it.each(cases)("$kind has these troubles: $expected", async ({ change, expected, options }) => {
    const node = await startNode();
    change(node);
    const findings = await check([node], options);
    expect(troubles(findings)).toEqual(expected);
    const unexplained = findings.filter((one) => one.verdict !== "ok" && !(one.means && one.remedy));
    expect(unexplained).toEqual([]);
  });

  it("without transactions proves nothing about its index", async () => {
    const node = await ScriptedNode.start({ automine: false });
    nodes.push(node);
    expect(troubles(await check([node]))).toEqual(["lookups: not proven"]);
  });

  it("that does not answer is refused if it is the only one, and else a warning", async () => {
    const [down, node] = [await startNode(), await startNode()];
    await down.close();
    expect(troubles(await check([down]))).toEqual(["answers: refuses"]);
    expect(troubles(await check([down, node]))).toEqual(["answers: warning"]);
  });

  it("whose provider refuses is shown with the provider's whole words, and what to look at is the account", async () => {
    const node = await startNode();
    const refuse = (status: number, body: string) => {
      node.script = () => ({ kind: "answer", status, body });
      return check([node]);
    };
    const words = "Your account has used its monthly quota. Please top up your credits.";
    const json = JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32_005, message: words } });
    const account = { check: "answers", remedy: expect.stringContaining("account") };
    for (const status of [402, 403, 429])
      expect(await refuse(status, json)).toEqual([
        expect.objectContaining({ ...account, found: expect.stringContaining(words) }),
      ]);
    const url = { check: "answers", remedy: expect.stringContaining("URL, and") };
    expect(await refuse(404, "<html>no such page</html>")).toEqual([expect.objectContaining(url)]);
    node.script = undefined;
    node.answers.eth_chainId = () => {
      throw new RefusedByNode(words);
    };
    expect(await check([node])).toEqual([expect.objectContaining({ ...account, found: words })]);
  });

  it("shows the origin of its URL, and no secret", async () => {
    const { url } = await startNode();
    const findings = await checkNodes({
      rpcUrls: [`${url}/v3/secret?key=secret`],
      chainId: 2201,
      reorgDepth: 0,
      waivers: [],
      readsRegistry: false,
      maxWrapperBytes: 131_072,
      rpcTimeoutMs: 60_000,
    });
    expect(findings[0]?.node).toBe(`1 ${url}`);
    expect(JSON.stringify(findings)).not.toContain("secret");
  });
});

describe("several nodes", () => {
  it("whose chains are short are compared by the first block, or by the id alone where one has pruned it", async () => {
    const [first, second] = [await ScriptedNode.start(), await ScriptedNode.start()];
    nodes.push(first, second);
    for (const node of [first, second]) node.mine();
    const found = async () => {
      const findings = await check([first, second]);
      return findings.find((one) => one.check === "one chain")?.found;
    };
    expect(await found()).toBe("same first block");
    second.answers.eth_getBlockByNumber = ([block], answer) => (block === "latest" ? answer() : null);
    expect(await found()).toBe("same chain id");
  });

  it("of one chain pass each check, of which each has its row in the guide", async () => {
    const first = await startNode();
    const second = await startNode(first.chain);
    second.answers.eth_syncing = () => false;
    expect(troubles(await check([first, second]))).toEqual([]);
    const findings = await check([first, second], { waivers: [hexToBytes(WAIVER)], readsRegistry: true });
    expect(new Set(findings.map((one) => one.check))).toEqual(new Set(NODE_CHECKS));
    const guide = readFileSync(new URL("../../../../docs/guides/nodes.md", import.meta.url), "utf8");
    const [, table = ""] = /\| check \|.*\n\|---.*\n((?:\|.*\n)+)/.exec(guide) ?? [];
    expect([...table.matchAll(/^\| ([^|]+) \|/gm)].map(([, name]) => name)).toEqual(NODE_CHECKS);
  });

  it("with another genesis, or another block below the head, are refused", async () => {
    const [first, other] = [await startNode(), await startNode()];
    other.chain.genesisHash = `0x${"77".repeat(32)}`;
    expect(troubles(await check([first, other]))).toEqual(["one chain: refuses"]);
    const forked = await startNode();
    forked.chain.reorg(50);
    for (let i = 0; i < 50; i++) forked.chain.mine();
    const findings = await check([first, forked]);
    expect(troubles(findings)).toContain("one chain: refuses");
    expect(findings.find((one) => one.check === "one chain")?.found).toContain("block 93");
  });

  it("of which the first is on another chain: the others are compared without it", async () => {
    const [wrong, first] = [await startNode(), await startNode()];
    const second = await startNode(first.chain);
    second.answers.eth_syncing = () => false;
    wrong.answers.eth_chainId = () => "0x1";
    wrong.chain.mine();
    const findings = await check([wrong, first, second]);
    expect(troubles(findings)).toEqual(["chain: refuses"]);
    expect(findings.find((one) => one.check === "one chain")?.node).toBe(`3 ${second.url}`);
  });

  it("of which one is behind or syncs: the service starts on the other", async () => {
    const [first, behind] = [await startNode(), await startNode()];
    behind.chain.reorg(40);
    behind.answers.eth_syncing = () => true;
    expect(troubles(await check([first, behind]))).toEqual(["sync: warning", "lag: warning"]);
  });
});

describe("the waivers", () => {
  const waivers = [hexToBytes(WAIVER)];

  it("are read from the registry as the service reads it", async () => {
    const node = await startNode();
    node.chain.registry = new ModelRegistry();
    expect(troubles(await check([node], { waivers, readsRegistry: true }))).toEqual(["waivers: warning"]);
    node.chain.setPolicy(WAIVER, [{ address: "*" }]);
    const findings = await check([node], { waivers, readsRegistry: true });
    expect(troubles(findings)).toEqual([]);
    expect(findings.find((one) => one.check === "waivers")?.found).toContain("1 target");
  });

  it("cannot be served by a node without calls, unless the configuration has the policy", async () => {
    const node = await startNode();
    const refused = ["waivers: refuses", "price 0: not proven"];
    expect(troubles(await check([node], { waivers, readsRegistry: true }))).toEqual(refused);
    expect(troubles(await check([node], { waivers }))).toEqual(["price 0: not proven"]);
  });

  it("meet a node that refuses price 0", async () => {
    const node = await startNode();
    node.answers.eth_call = () => {
      throw new RefusedByNode(
        "max fee per gas less than block base fee: maxFeePerGas: 0, baseFee: 1000000000",
      );
    };
    expect(troubles(await check([node], { waivers }))).toEqual(["price 0: warning"]);
  });
});
