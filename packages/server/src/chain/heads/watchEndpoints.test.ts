import { EventEmitter, once } from "node:events";
import { bytesToHex } from "@gas-waiver/protocol";
import { afterEach, expect, it } from "vitest";
import { deferred } from "../../../test/support/deferred.js";
import { ScriptedNode } from "../../../test/support/scriptedNode.js";
import type { Logger } from "../../model/telemetry/log.js";
import { EndpointHeads } from "../rpc/endpointHeads.js";
import { nodeStatuses } from "./nodeStatus.js";
import { watchEndpoints } from "./watchEndpoints.js";

const nodes: ScriptedNode[] = [];
afterEach(async () => {
  await Promise.all(nodes.splice(0).map((node) => node.close()));
});

async function startNode(genesisHash: string): Promise<ScriptedNode> {
  const node = await ScriptedNode.start();
  nodes.push(node);
  node.chain.genesisHash = genesisHash as `0x${string}`;
  return node;
}

it("logs once that a node is on another chain, goes on asking it, and asks the others", async () => {
  const [ours, foreign] = ["11", "77"].map((byte) => `0x${byte.repeat(32)}`) as [string, string];
  const wrong = await startNode(foreign);
  const right = await startNode(ours);
  const changes: string[] = [];
  const log = ({ node, state }: { readonly node: string; readonly state: string }) =>
    void changes.push(`${node.charAt(0)}: ${state}`);
  const ending = new AbortController();
  const asked = deferred<void>();
  let rounds = 0;
  const watching = watchEndpoints({
    rpcUrls: [wrong.url, right.url],
    rpcTimeoutMs: 10_000,
    heads: new EndpointHeads(2),
    log: { error: log, warn: log, info: log } as unknown as Logger,
    pollMs: 1,
    signal: ending.signal,
    async isServedBy(client) {
      const isOurs = bytesToHex((await client.identity()).genesisHash) === ours;
      if (!isOurs && ++rounds === 5) asked.resolve();
      return isOurs;
    },
  });
  await asked.promise;
  while (!changes.includes("2: well")) await right.nextCall("eth_getBlockByNumber");
  ending.abort();
  await watching;
  expect(changes.sort()).toEqual(["1: other chain", "2: well"]);
});

it("notices within some polls that a node has changed its chain, and warns with the cause when one goes away", async () => {
  const [ours, foreign] = ["11", "77"].map((byte) => `0x${byte.repeat(32)}`) as [string, string];
  const node = await startNode(ours);
  const records: { readonly level: string; readonly state: string; readonly err?: string }[] = [];
  const events = new EventEmitter();
  const at = (level: string) => (record: { readonly state: string }) => {
    records.push({ level, ...record });
    events.emit("record");
  };
  const ending = new AbortController();
  const watching = watchEndpoints({
    rpcUrls: [node.url],
    rpcTimeoutMs: 10_000,
    heads: new EndpointHeads(1),
    log: { error: at("error"), warn: at("warn"), info: at("info") } as unknown as Logger,
    pollMs: 1,
    signal: ending.signal,
    isServedBy: async (client) => bytesToHex((await client.identity()).genesisHash) === ours,
  });
  const until = async (count: number) => {
    while (records.length < count) await once(events, "record");
    return records[count - 1];
  };
  expect(await until(1)).toMatchObject({ level: "info", state: "well" });
  node.chain.genesisHash = foreign as `0x${string}`;
  expect(await until(2)).toMatchObject({ level: "error", state: "other chain" });
  node.chain.genesisHash = ours as `0x${string}`;
  expect((await until(3))?.level).toBe("info");
  if (records[2]?.state !== "well") await until(4);
  const count = records.length;
  await node.close();
  expect(await until(count + 1)).toMatchObject({
    level: "warn",
    state: "unknown",
    err: expect.stringMatching(/ECONN|socket|closed|refused/i),
  });
  ending.abort();
  await watching;
});

it("goes on asking a node beside one that is far ahead on a chain of its own, and logs that once", async () => {
  const [right, wrong] = [await ScriptedNode.start(), await ScriptedNode.start()];
  nodes.push(right, wrong);
  for (let blocks = 0; blocks < 100; blocks++) wrong.mine();
  const { hash } = wrong.chain.read("eth_getBlockByNumber", ["latest", false]) as { hash: string };
  for (const node of nodes)
    node.answers.eth_getBlockByNumber = ([block], answer) => {
      if (block === "latest") node.mine();
      const found = answer() as { hash: string } | null;
      return node === wrong && found ? { ...found, hash } : found;
    };
  const heads = new EndpointHeads(2);
  const errors: string[] = [];
  const apart = deferred<void>();
  const log = {
    warn() {},
    info() {},
    error: (_: unknown, message: string) => apart.resolve(void errors.push(message)),
  };
  const ending = new AbortController();
  const watching = watchEndpoints({
    ...{ rpcUrls: [right.url, wrong.url], rpcTimeoutMs: 10_000, heads, log: log as unknown as Logger },
    ...{ pollMs: 1, signal: ending.signal, isServedBy: async () => true },
  });
  await apart.promise;
  for (let polls = 0; polls < 10; polls++) await right.nextCall("eth_getBlockByNumber");
  expect([heads.stateOf(0), heads.isUsable(0)]).toEqual(["well", true]);
  ending.abort();
  await watching;
  expect(errors).toEqual([expect.stringMatching(/different blocks at one height/)]);
});

it("takes a node for well whose blocks have no time", async () => {
  const node = await startNode(`0x${"11".repeat(32)}`);
  node.answers.eth_getBlockByNumber = (_, answer) => ({ ...(answer() as object), timestamp: undefined });
  const heads = new EndpointHeads(1);
  const ending = new AbortController();
  const well = deferred<void>();
  const onChange = ({ state }: { readonly state: string }) => void (state === "well" && well.resolve());
  const watching = watchEndpoints({
    ...{ rpcUrls: [node.url], rpcTimeoutMs: 10_000, heads, pollMs: 1, signal: ending.signal },
    log: { error: onChange, warn: onChange, info: onChange } as unknown as Logger,
    isServedBy: async () => true,
  });
  await well.promise;
  expect(nodeStatuses([node.url], heads)).toMatchObject([{ state: "well", headAgeSeconds: undefined }]);
  ending.abort();
  await watching;
});
