import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { listen } from "./notifications.js";

it("a database that stays away is logged once", async () => {
  const lines: string[] = [];
  const log = pino({ base: null }, { write: (line: string) => void lines.push(line) });
  let connections = 0;
  let onThird = () => {};
  const third = new Promise<void>((resolve) => (onThird = resolve));
  const server = createServer((socket) => {
    socket.on("error", () => {}).once("data", () => socket.end());
    if (++connections === 3) onThird();
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const connection = { connectionString: `postgres://u@127.0.0.1:${port}/d?sslmode=disable` };
  const store = { connection, onOtherServer: new Set<() => void>() };
  const listener = listen(store, ["channel"], { onListening() {}, onNotification() {} }, log);
  await third;
  await listener.close();
  expect(lines).toHaveLength(1);
});
