// Subscriptions of the gateway through failures of the node and reorgs: which notifications come, and in which order.
import { bytesToHex } from "@gas-waiver/protocol";
import { beforeEach, describe, expect, it } from "vitest";
import { GATEWAY_KEY, GatewaySocket } from "../support/gatewayClient.js";
import { RefusedByNode } from "../support/modelChain.js";
import type { TestService } from "../support/testService.js";
import { testServices } from "../support/testService.js";
import { TOKEN } from "../support/user.js";

const services = testServices();
const shared = services.shared({ publicApiKeys: [GATEWAY_KEY] });

const socketTo = ({ url }: TestService) =>
  GatewaySocket.open(`${url.replace("http", "ws")}/rpc/${GATEWAY_KEY}`);
const LOG = { address: bytesToHex(TOKEN), topics: [], data: "0x" };
const askedBlock = (filter: unknown) => (filter as { readonly blockHash: string }).blockHash;

/** Each block has two logs, which have the block's hash and an index. */
function answerLogs({ node }: TestService): void {
  node.answers.eth_getLogs = ([filter]) =>
    ["0x0", "0x1"].map((logIndex) => ({ ...LOG, blockHash: askedBlock(filter), logIndex }));
}

const nextResult = async (socket: GatewaySocket) =>
  (await socket.next()).params.result as Record<string, string>;
const nextLogs = async (socket: GatewaySocket, count: number) => {
  const logs = [];
  for (let i = 0; i < count; i++) logs.push(await nextResult(socket));
  return logs.map(({ blockHash, logIndex, removed }) => [blockHash, logIndex, removed]);
};

beforeEach(() => answerLogs(shared()));

describe("subscriptions", () => {
  it("get the logs of a block that the node first did not give, and before those of later blocks", async () => {
    const { node } = shared();
    const socket = await socketTo(shared());
    const heads = await socketTo(shared());
    await socket.call("eth_subscribe", "logs");
    await heads.call("eth_subscribe", "newHeads");
    const answer = node.answers.eth_getLogs;
    const failed: string[] = [];
    node.answers.eth_getLogs = ([filter]) => {
      failed.push(askedBlock(filter));
      if (failed.length > 2 && answer) return answer([filter], () => undefined);
      throw new RefusedByNode("unknown block");
    };
    node.mine();
    const first = await nextResult(heads);
    await expect.poll(() => failed, { timeout: 60_000 }).toContain(first.hash);
    node.mine();
    const second = await nextResult(heads);
    expect(await nextLogs(socket, 4)).toEqual([
      [first.hash, "0x0", undefined],
      [first.hash, "0x1", undefined],
      [second.hash, "0x0", undefined],
      [second.hash, "0x1", undefined],
    ]);
    await socket.close();
    await heads.close();
  });

  it("get the logs of removed blocks once more, the latest first, before those of the blocks in their place", async () => {
    const { node } = shared();
    const socket = await socketTo(shared());
    const heads = await socketTo(shared());
    await socket.call("eth_subscribe", "logs");
    await heads.call("eth_subscribe", "newHeads");
    const hashes: (string | undefined)[] = [];
    for (let i = 0; i < 3; i++) {
      node.mine();
      hashes.push((await nextResult(heads)).hash);
      await nextLogs(socket, 2);
    }
    node.chain.reorg(2);
    for (let i = 0; i < 3; i++) node.chain.mine();
    node.mine();
    const added = [];
    for (let i = 0; i < 4; i++) added.push(await nextResult(heads));
    expect(added[0]?.parentHash).toBe(hashes[0]);
    expect(await nextLogs(socket, 12)).toEqual([
      [hashes[2], "0x1", true],
      [hashes[2], "0x0", true],
      [hashes[1], "0x1", true],
      [hashes[1], "0x0", true],
      ...added.flatMap(({ hash }) => [
        [hash, "0x0", undefined],
        [hash, "0x1", undefined],
      ]),
    ]);
    await socket.close();
    await heads.close();
  });

  it("end with 1013 where logs of blocks cannot be had, and those of new blocks go on", async () => {
    const { node } = shared();
    const socket = await socketTo(shared());
    const heads = await socketTo(shared());
    await socket.call("eth_subscribe", "logs");
    await heads.call("eth_subscribe", "newHeads");
    node.answers.eth_getLogs = () => {
      throw new RefusedByNode("history is pruned");
    };
    const closed = socket.closeCode();
    let isClosed = false;
    void closed.then(() => {
      isClosed = true;
    });
    node.mine();
    await heads.next();
    while (!isClosed) {
      for (let i = 1; i < 20; i++) node.chain.mine();
      node.mine();
      for (let i = 0; i < 20; i++) await heads.next();
    }
    expect(await closed).toBe(1013);
    await heads.close();
  });
});

describe("an address that subscribes to very much", () => {
  const open = ({ url }: TestService, address: string) =>
    GatewaySocket.open(`${url.replace("http", "ws")}/rpc/${GATEWAY_KEY}`, { "x-forwarded-for": address });

  it("has 400 subscriptions over all of its connections, until it ends some", async () => {
    const service = await services.start({ publicApiKeys: [GATEWAY_KEY], trustedProxies: ["127.0.0.1"] });
    const sockets = await Promise.all(Array.from({ length: 5 }, () => open(service, "192.0.2.1")));
    const [first, ...others] = sockets;
    const subscribe = (socket: GatewaySocket | undefined, times: number) =>
      Promise.all(Array.from({ length: times }, () => socket?.call("eth_subscribe", "newHeads")));
    for (const socket of others) await subscribe(socket, 100);
    const refused = { error: { code: -32_005, message: expect.stringContaining("this address has 400") } };
    expect(await subscribe(first, 1)).toEqual([expect.objectContaining(refused)]);
    const neighbour = await open(service, "192.0.2.2");
    expect(await subscribe(neighbour, 1)).toEqual([{ result: expect.any(String) }]);
    await others[0]?.close();
    await expect.poll(() => subscribe(first, 1)).toEqual([{ result: expect.any(String) }]);
    await Promise.all([first, ...others.slice(1), neighbour].map((socket) => socket?.close()));
  });

  it("is sent a share of the bytes, and others hear of the next block before it has all of them", async () => {
    const service = await services.start({ publicApiKeys: [GATEWAY_KEY], trustedProxies: ["127.0.0.1"] });
    const [greedy, other] = [await open(service, "192.0.2.1"), await open(service, "192.0.2.2")];
    for (let i = 0; i < 12; i++) await greedy.call("eth_subscribe", "logs");
    await other.call("eth_subscribe", "newHeads");
    const data = `0x${"00".repeat(500_000)}`;
    service.node.answers.eth_getLogs = () => [
      { ...LOG, data },
      { ...LOG, data },
    ];
    service.node.mine();
    await other.next();
    for (let i = 0; i < 16; i++) await greedy.next();
    service.node.mine();
    await other.next();
    expect(greedy.notified).toBeLessThan(24);
    await other.close();
    greedy.pause();
  });
});
