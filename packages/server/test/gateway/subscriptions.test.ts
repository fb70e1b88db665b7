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
