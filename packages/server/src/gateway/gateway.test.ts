import { pino } from "pino";
import { expect, it } from "vitest";
import { deferred } from "../../test/support/deferred.js";
import type { Caller } from "../model/keys/caller.js";
import { Gateway } from "./gateway.js";

const caller = { keyId: "key" } as Caller;
const LARGE = "x".repeat(100_000);

/** A gateway with a method that answers at once, and one that answers when the test says so. */
function startGateway() {
  const slow = deferred<string>();
  const gateway = new Gateway({
    methods: new Map([
      ["large", { cost: 1, answer: async () => LARGE }],
      ["slow", { cost: 1, answer: () => slow.promise }],
    ]),
    countReads: () => {},
    maxAnswerBytes: 1_000_000,
    log: pino({ level: "silent" }),
  });
  return { gateway, slow };
}

const call = (method: string) => ({ jsonrpc: "2.0", id: 1, method });

it("counts an answer of a batch while another call of it waits", async () => {
  const { gateway, slow } = startGateway();
  let counted = 0;
  const grown = deferred<void>();
  const exchange = gateway.beginExchange(undefined, {
    grow(bytes) {
      counted += bytes;
      grown.resolve();
    },
  });
  const answering = gateway.answer([call("slow"), call("large")], caller, exchange);
  await grown.promise;
  expect(counted).toBeGreaterThan(LARGE.length);
  slow.resolve("");
  await answering;
});

it("an answer without memory is lost, so that the client may send again", async () => {
  const { gateway } = startGateway();
  const exchange = gateway.beginExchange(undefined, {
    grow() {
      throw new Error("no room");
    },
  });
  exchange.tell("submission");
  await expect(gateway.answer(call("large"), caller, exchange)).rejects.toThrow("no room");
  expect(gateway.beginExchange().tell("submission")).toBe(true);
});
