// A node that is behind the other one, has pruned its first blocks, or changes to another chain.
import { parseReadiness } from "@gas-waiver/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { ModelChain } from "../support/modelChain.js";
import { ScriptedNode } from "../support/scriptedNode.js";
import { GOOD_HEADERS, outcomeOf, TestService, testServices } from "../support/testService.js";
import { innerOf, userAddress, WAIVER } from "../support/user.js";

const patience = { speed: 10 };
const services = testServices({ patience });
const INCLUDED = { query: "?wait=included" };

const spares: ScriptedNode[] = [];
afterEach(async () => {
  await Promise.all(spares.splice(0).map((node) => node.close()));
});

/** Starts a node that has the chain's first block, and no later one. */
async function startBehind(): Promise<ScriptedNode> {
  const spare = await ScriptedNode.start({ chain: new ModelChain("strict"), automine: false });
  spares.push(spare);
  spare.mine();
  return spare;
}

/** Resolves with the message that readiness has about the nodes. The service polls their heads once a second. */
async function messageOfNodes(service: TestService): Promise<string> {
  for (;;) {
    const { text } = await service.call("GET", "/v1/ready", undefined, GOOD_HEADERS);
    const { message } = parseReadiness(JSON.parse(text)).parts.chain;
    if (message !== undefined) return message;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

describe("a spare node that is hours behind", () => {
  it("is not used when the first node fails, and no submission ends; metrics and readiness show the lag", async () => {
    const spare = await startBehind();
    const before = await services.start();
    const first = before.node;
    first.mine();
    await before.submit([innerOf(1)], INCLUDED);
    await before.server.close();
    const changes = { rpcUrl: [first.url, spare.url] };
    const service = services.closeAfterTest(await before.startReplica(changes));
    expect(await messageOfNodes(service)).toMatch(/^node 2 is \d+ s behind$/);
    const { url } = await service.server.listenMetrics({ host: "127.0.0.1", port: 0 });
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toContain(`gas_waiver_node_usable{node="1 ${first.url}"} 1`);
    expect(metrics).toContain(`gas_waiver_node_usable{node="2 ${spare.url}"} 0`);
    expect(metrics).toMatch(/gas_waiver_node_lag_seconds\{node="2 [^"]*"\} [1-9]/);

    const calledMethods: string[] = [];
    spare.script = ({ methods }) => {
      calledMethods.push(...methods);
      return undefined;
    };
    first.script = ({ methods }) =>
      methods.includes("eth_getBlockByNumber") ? undefined : { kind: "answer", status: 503, body: "" };
    // The spare node's state has 0 as the sender's next nonce. By that state, nonce 1 would end with NONCE_GAP.
    const line = service.submit([innerOf(1, 1)], INCLUDED);
    await first.nextCall("eth_getTransactionCount");
    first.script = undefined;
    expect((await line).map(outcomeOf)).toEqual(["success"]);
    expect(spare.sent).toEqual([]);
    expect(calledMethods.filter((method) => method !== "eth_getBlockByNumber")).toEqual([]);
  });
});

describe("a second node that is some blocks behind", () => {
  it("does not make a lane give a nonce that the store knows as used, or that a final block showed as used by another program", async () => {
    const chain = new ModelChain("strict");
    const first = await ScriptedNode.start({ chain });
    const second = await ScriptedNode.start({ chain, automine: false });
    spares.push(first, second);
    // By its head it is not behind.
    const methods = ["eth_blockNumber", "eth_getTransactionCount", "eth_getTransactionReceipt"];
    for (const method of methods)
      second.answers[method] = (params) => chain.read(method, params, chain.height);
    const onlySecondReads = () => {
      first.script = ({ methods }) =>
        methods.includes("eth_getTransactionCount") ? { kind: "answer", status: 503, body: "" } : undefined;
    };
    const databaseUrl = await services.databases.createDatabase();
    const changes = { rpcUrl: [first.url, second.url] };
    const service = services.closeAfterTest(
      await TestService.start({ node: first, databaseUrl, changes, patience }),
    );
    await service.submit([innerOf(1), innerOf(2)], INCLUDED);

    first.automine = false;
    onlySecondReads();
    expect((await service.submit([innerOf(3)])).map(outcomeOf)).toEqual(["success"]);
    expect((await service.submit([innerOf(4)])).map(outcomeOf)).toEqual(["success"]);
    const assigned = async () => (await service.rows()).map(({ waiver_nonce }) => waiver_nonce);
    expect(await assigned()).toEqual(["0", "1", "2", "3"]);

    first.script = undefined;
    first.mine();
    await service.until("select from submissions having bool_and(state = 'included')");
    await service.submit([innerOf(5)]);
    expect((await assigned()).at(-1)).toBe("4");
    chain.clearPool();
    first.mine();
    chain.setNonce(WAIVER, 5n);
    await service.until("select from lanes where foreign_uses = 1");
    onlySecondReads();
    await service.until("select from submissions where state = 'broadcast' and signings = 2");
    expect((await assigned()).at(-1)).toBe("5");
    first.script = undefined;
    first.mine();
    await service.until("select from submissions having bool_and(state = 'included')");
    expect(await service.query("select foreign_uses from lanes")).toEqual([{ foreign_uses: 1 }]);
  });
});

describe("a node that has pruned its first blocks", () => {
  const prune = (node: ScriptedNode) => {
    node.answers.eth_getBlockByNumber = ([block], answer) => (Number(block) < 2 ? null : answer());
  };

  it("is known by final blocks of the store: one of another chain with the same id is refused", async () => {
    const service = await services.start({}, { prepare: prune });
    const { node } = service;
    for (const user of [1, 2]) await service.submit([innerOf(user)], INCLUDED);
    for (let i = 0; i < 70; i++) node.mine();
    await service.server.close();
    const next = services.closeAfterTest(await service.startReplica());
    await next.submit([innerOf(3)], INCLUDED);
    await next.server.close();
    // The blocks of the other chain have other hashes from the first on.
    node.chain.reorg(node.chain.height);
    for (let i = 0; i < 80; i++) node.mine();
    await expect(service.startReplica()).rejects.toThrow(
      /another block \d+ than the one that the store knows as final/,
    );
  });
});

describe("a node that changes to another chain while the service runs", () => {
  it("is not used any more", async () => {
    const node = await ScriptedNode.start();
    const other = await ScriptedNode.start();
    spares.push(node, other);
    const databaseUrl = await services.databases.createDatabase();
    const service = services.closeAfterTest(
      await TestService.start({ node, databaseUrl, changes: { rpcUrl: [node.url, other.url] }, patience }),
    );
    await service.submit([innerOf(1)], INCLUDED);
    await other.close();
    other.chain.genesisHash = `0x${"77".repeat(32)}`;
    // The watch of the nodes notices that this one is away before it comes back.
    await node.nextCall("eth_getBlockByNumber");
    await node.nextCall("eth_getBlockByNumber");
    await other.open();
    expect(await messageOfNodes(service)).toBe("node 2 is on another chain");
  });

  /** Has the node answer for another chain, where the waiver and user 1 have used ten nonces. @returns an end of that. */
  function answerForOther({ answers }: ScriptedNode, onFullBlock = () => {}): () => void {
    const other = new ModelChain("strict");
    other.chainId = 1;
    other.mine();
    for (const account of [WAIVER, userAddress(1)]) other.setNonce(account, 10n);
    const methods = ["eth_chainId", "eth_blockNumber", "eth_getBlockByNumber", "eth_getTransactionCount"];
    for (const method of [...methods, "eth_getTransactionReceipt", "eth_getTransactionByHash"])
      answers[method] = (params) => {
        if (params[1] === true) onFullBlock();
        return other.read(method, params);
      };
    return () => {
      for (const method of Object.keys(answers)) delete answers[method];
    };
  }

  /** Resolves when the watch has asked so many times on which chain the node is. */
  async function askedForChain(node: ScriptedNode, times: number): Promise<void> {
    let asked = 0;
    node.script = ({ methods }) => {
      if (methods[0] === "eth_chainId") asked++;
      return undefined;
    };
    await node.until(() => asked >= times);
  }

  it("fails nothing that was never sent by the nonces of that chain", async () => {
    const service = await services.start();
    const { node } = service;
    await service.submit([innerOf(2)], INCLUDED);
    const end = answerForOther(node);
    const line = service.submit([innerOf(1)], INCLUDED);
    await service.until("select from submissions where state <> 'included'");
    await askedForChain(node, 3);
    end();
    expect((await line).map(outcomeOf)).toEqual(["success"]);
  });

  it("proves by the blocks of that chain nothing about a wrapper that waits", async () => {
    const service = await services.start({}, { automine: false });
    const { node } = service;
    const line = service.submit([innerOf(1)], INCLUDED);
    await service.until("select from submissions where state = 'broadcast'");
    let read = 0;
    const end = answerForOther(node, () => read++);
    // A node of which the watch knows that it is on another chain is asked for its chain alone.
    const refused = askedForChain(node, 2);
    await Promise.race([refused, node.until(() => read > 1)]);
    // The doubt is decided after the search for its proof, and ends the line if it takes the block for one.
    for (let looked = 0; looked < 3; looked++)
      await Promise.race([refused, line, node.nextCall("eth_getTransactionReceipt")]);
    end();
    node.mine();
    expect((await line).map(outcomeOf)).toEqual(["success"]);
    expect(await service.query("select foreign_uses from lanes")).toEqual([{ foreign_uses: 0 }]);
  });
});
