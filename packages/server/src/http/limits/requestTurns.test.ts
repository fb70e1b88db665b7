import { once } from "node:events";
import { createServer, get } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { PRICES } from "../../model/prices.js";
import { LoopQueue } from "../../util/loopQueue.js";
import { RequestTurns } from "./requestTurns.js";

it("charges a party for the bytes of its answers, whether it reads them or not", async () => {
  const bytes = 32_000_000;
  const charged: [string, number][] = [];
  class CountingLoop extends LoopQueue {
    override charge(party: string, price: number): void {
      charged.push([party, price]);
    }
  }
  const server = createServer((_request, response) => void response.end(Buffer.alloc(bytes)));
  new RequestTurns(server, new CountingLoop(), () => ({ name: "reader" }));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const closed = new Promise((resolve) =>
    server.prependOnceListener("request", (_request, response) => response.once("close", resolve)),
  );
  const sent = get({ port, host: "127.0.0.1", agent: false });
  const [answer] = await once(sent, "response");
  const [[party, price] = ["", 0]] = charged;
  expect(party).toBe("reader");
  expect(price).toBeGreaterThan(bytes * PRICES.sentByte);
  answer.resume();
  await closed;
  const all = charged.reduce((sum, [, one]) => sum + one, 0);
  expect(all).toBeLessThan(1.1 * bytes * PRICES.sentByte);
  await new Promise((resolve) => server.close(resolve));
});
