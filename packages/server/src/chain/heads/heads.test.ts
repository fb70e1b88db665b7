import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { afterEach, describe, expect, it } from "vitest";
import { ScriptedNode } from "../../../test/support/scriptedNode.js";
import { silent } from "../../../test/support/testPostgres.js";
import { followHeads } from "./heads.js";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function followed(prepare: (node: ScriptedNode) => void = () => {}) {
  const node = await ScriptedNode.start({ automine: false });
  ends.push(() => node.close());
  prepare(node);
  let heads = 0;
  let onHead: () => void = () => {};
  const follower = followHeads(node.wsUrl, silent, () => {
    heads++;
    onHead();
  });
  ends.push(() => follower.close());
  /** Resolves when so many blocks were announced. */
  const until = async (count: number) => {
    while (heads < count) await new Promise<void>((resolve) => (onHead = resolve));
  };
  return { node, until, count: () => heads };
}

const subscribed = (node: ScriptedNode) => node.until(({ heads }) => heads.subscribers === 1);

describe("new blocks over WebSocket", () => {
  it("are announced as they come", async () => {
    const { node, until, count } = await followed();
    await subscribed(node);
    node.mine();
    await until(1);
    node.mine();
    node.mine();
    await until(3);
    expect(count()).toBe(3);
  });

  it("are subscribed to again after the connection was lost", async () => {
    const { node, until, count } = await followed();
    await subscribed(node);
    node.mine();
    await until(1);
    node.heads.disconnectAll();
    await node.until(({ heads }) => heads.subscribers === 0);
    await subscribed(node);
    node.mine();
    await until(2);
    expect(count()).toBe(2);
  });

  it.each(["nonsense", "null", "[]", "7", '{"id":1}', '{"method":"eth_other"}', ""])(
    "are not announced by the message %j",
    async (text) => {
      const { node, until, count } = await followed();
      await subscribed(node);
      node.heads.send(text);
      node.mine();
      await until(1);
      expect(count()).toBe(1);
    },
  );

  it("are not announced by a node without subscriptions", async () => {
    const { node, count } = await followed(({ heads }) => (heads.refuses = true));
    await node.until(({ heads }) => heads.refusals > 0);
    node.mine();
    expect(count()).toBe(0);
  });

  it("are not announced where the WebSocket leads to no node, and the log says so once", async () => {
    const lines: string[] = [];
    const log = pino({ level: "warn", base: null }, { write: (line: string) => void lines.push(line) });
    let connections = 0;
    let onSecond = () => {};
    const second = new Promise<void>((resolve) => (onSecond = resolve));
    const server = createServer((_request, response) => response.writeHead(404).end());
    server.on("connection", () => ++connections === 2 && onSecond());
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    ends.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    const follower = followHeads(`ws://127.0.0.1:${port}`, log, () => {});
    await second;
    follower.close();
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual([
      "the node's WebSocket cannot be used: new blocks are polled",
    ]);
  });

  it("need not be followed to the end: it stops while connecting, and where nothing answers the handshake", async () => {
    const server = createServer();
    // The server does not answer the upgrade.
    server.on("upgrade", (_request, socket) => ends.push(() => socket.destroy()));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    ends.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    let announced = 0;
    const connecting = followHeads(`ws://127.0.0.1:${port}`, silent, () => announced++);
    connecting.close();
    const unanswered = followHeads(`ws://127.0.0.1:${port}`, silent, () => announced++);
    await once(server, "upgrade");
    unanswered.close();
    expect(announced).toBe(0);
  });
});
