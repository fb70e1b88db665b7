// The check of the nodes at the start of the service: it does not start on a node that would break its guarantees.
import { afterEach, describe, expect, it } from "vitest";
import { createServer } from "../../src/createServer.js";
import { policyOf, REGISTRY, withRegistry } from "../support/policies.js";
import { ScriptedNode } from "../support/scriptedNode.js";
import { GOOD_HEADERS, optionsFor, outcomeOf, TestService, testServices } from "../support/testService.js";
import { hashOf, innerOf } from "../support/user.js";

const services = testServices();
const nodes: ScriptedNode[] = [];
afterEach(async () => {
  await Promise.all(nodes.splice(0).map((node) => node.close()));
});

/** Starts a node with an old transaction that its index does not have. */
async function startWithoutIndex(): Promise<ScriptedNode> {
  const node = await ScriptedNode.start();
  nodes.push(node);
  node.chain.now = () => Date.now() - 120_000;
  node.chain.mine();
  node.chain.setNonce(`0x${"51".repeat(20)}`, 1n);
  node.chain.now = Date.now;
  node.chain.mine();
  node.answers.eth_getTransactionReceipt = () => null;
  return node;
}

describe("the start", () => {
  it("is refused on a node that finds no transaction by its hash, with an error that names the remedy", async () => {
    const node = await startWithoutIndex();
    const databaseUrl = await services.databases.createDatabase();
    const options = optionsFor(databaseUrl, node.url);
    await expect(createServer(options)).rejects.toThrow(
      /lookups: eth_getTransactionReceipt.*--skip-node-check/,
    );
    // The operator may know better.
    const server = await createServer({ ...options, skipNodeCheck: true });
    await server.close();
  });

  it("is refused if a further node is of another chain, and not if it is away", async () => {
    const [first, other] = [await ScriptedNode.start(), await ScriptedNode.start()];
    nodes.push(first, other);
    other.answers.eth_chainId = () => "0x1";
    const rpcUrl = [first.url, other.url];
    const databaseUrl = await services.databases.createDatabase();
    const options = { ...optionsFor(databaseUrl, first.url), rpcUrl };
    await expect(createServer(options)).rejects.toThrow(/chain 1:.*another chain/);
    await other.close();
    await (await createServer(options)).close();
  });

  it("of a new store succeeds without the node, says so, and the service works when the node comes; another chain is refused from then on", async () => {
    const node = await ScriptedNode.start();
    nodes.push(node);
    withRegistry()(node);
    await node.close();
    const databaseUrl = await services.databases.createDatabase();
    const service = services.closeAfterTest(
      await TestService.start({ node, databaseUrl, changes: REGISTRY }),
    );
    const health = await service.call("GET", "/v1/health");
    const ready = await service.call("GET", "/v1/ready", undefined, GOOD_HEADERS);
    const refused = await service.post(JSON.stringify({ transactions: [innerOf(1)] }));
    expect([health.status, ready.status, refused.status]).toEqual([200, 503, 503]);
    expect(JSON.parse(ready.text).parts.chain).toMatchObject({
      ok: false,
      message: expect.stringContaining("the node cannot be used"),
    });
    expect(refused.headers["retry-after"]).toBeDefined();
    await node.open();
    const submitted = async () => {
      const { status, text } = await service.post(JSON.stringify({ transactions: [innerOf(1)] }), {
        query: "?wait=included",
      });
      return status === 200 && text.includes('"success":true');
    };
    await expect.poll(submitted, { timeout: 100_000 }).toBe(true);
    expect(
      await service.query("select from chains where genesis_hash <> $1", [Buffer.alloc(32)]),
    ).toHaveLength(1);
    expect(await policyOf(service)).toMatchObject({ genesisHash: node.chain.genesisHash });
    await service.end();
    node.chain.genesisHash = hashOf(innerOf(1));
    await expect(createServer(optionsFor(databaseUrl, node.url, REGISTRY))).rejects.toThrow(/is not the one/);
  });

  it("succeeds without the node; a node that comes back syncing gets no transaction until it has synced", async () => {
    const before = await services.start();
    await before.submit([innerOf(1)]);
    const { node } = before;
    await before.server.close();
    await node.close();
    node.answers.eth_syncing = () => ({ currentBlock: "0x1", highestBlock: "0x9" });
    node.chain.now = () => Date.now() - 3_600_000;
    node.chain.mine();
    const service = services.closeAfterTest(await before.startReplica());
    const sent = node.sent.length;
    const line = service.submit([innerOf(2)], { query: "?wait=included" });
    const syncingCall = node.nextCall("eth_syncing");
    await node.open();
    await syncingCall;
    expect(node.sent).toHaveLength(sent);
    node.answers.eth_syncing = () => false;
    expect((await line).map(outcomeOf)).toEqual(["success"]);
  });
});
