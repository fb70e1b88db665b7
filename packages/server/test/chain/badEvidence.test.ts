// Answers of nodes and proxies that look like evidence and are none (D28), or that spoil one call of many (D30).
import type { Hex } from "@gas-waiver/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { RefusedByNode } from "../support/modelChain.js";
import { type Misbehaviour, ScriptedNode } from "../support/scriptedNode.js";
import { outcomeOf, type TestService, testServices } from "../support/testService.js";
import { hashOf, innerOf } from "../support/user.js";

const services = testServices({ patience: { speed: 10 } });
const INCLUDED = { query: "?wait=included" };
const batch = (count: number, from = 1) => Array.from({ length: count }, (_, i) => innerOf(from + i));
const carries = (raw: Hex, inner: Hex) => raw.includes(inner.slice(2));
/** A refusal of the closed list. */
const REFUSAL = { code: -32_000, message: "intrinsic gas too low: gas 1, minimum needed 21000" };
const REFUSES: Misbehaviour = { kind: "error", of: () => REFUSAL };
const BILL =
  '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Insufficient balance: top up your account"}}';

const spares: ScriptedNode[] = [];
afterEach(async () => {
  await Promise.all(spares.splice(0).map((node) => node.close()));
});

/** The number of submissions that the store has as failed. */
async function countFailed(service: TestService): Promise<number> {
  return (await service.rows()).filter(({ state }) => state === "failed").length;
}

/** Mines blocks until all submissions are in one. */
async function includeAll(service: TestService): Promise<void> {
  service.node.automine = true;
  service.node.script = undefined;
  const mining = setInterval(() => service.node.mine(), 20);
  await service.until("select from submissions having bool_and(state = 'included')");
  clearInterval(mining);
}

describe("a refusal that is not the answer to the only request", () => {
  it("by a proxy that reset the kept connection after the node had taken the wrapper fails nothing", async () => {
    const service = await services.start({}, { automine: false });
    let sends = 0;
    service.node.script = ({ raws }) => {
      if (raws.length === 0) return undefined;
      return sends++ === 0 ? { kind: "reset", carriedOut: true } : REFUSES;
    };
    expect((await service.submit([innerOf(1)])).map(outcomeOf)).toEqual(["success"]);
    expect(service.node.sent.length).toBeGreaterThan(1);
    await includeAll(service);
    expect(service.node.chain.executed).toEqual([hashOf(innerOf(1))]);
  });

  it.each([
    [
      "a nonce that is too high",
      { code: -32_000, message: "invalid nonce; got 1, expected 0: invalid sequence" },
    ],
    ["a sender's nonce that is used", { code: -32_000, message: "nonce", data: { reason: "NONCE_TOO_LOW" } }],
  ])("by %s, again and again until the time in the queue is over, fails nothing", async (_, error) => {
    const options = { maxQueueMs: 500, sweepIntervalMs: 100 };
    const service = await services.start(options, { automine: false });
    let sends = 0;
    service.node.script = ({ raws }) => {
      if (raws.length === 0) return undefined;
      return sends++ === 0 ? { kind: "reset", carriedOut: true } : { kind: "error", of: () => error };
    };
    const line = service.submit([innerOf(1)], INCLUDED);
    await service.until("select from submissions where accepted_at < now() - interval '3 s'");
    expect(await countFailed(service)).toBe(0);
    await includeAll(service);
    expect((await line).map(outcomeOf)).toEqual(["success"]);
    expect(service.node.chain.executed).toEqual([hashOf(innerOf(1))]);
  });

  it("by a second node, after the first took the wrapper and went away, fails nothing", async () => {
    const before = await services.start({}, { automine: false });
    const { node: first } = before;
    const spare = await ScriptedNode.start({ chain: first.chain, automine: false });
    spares.push(spare);
    await before.server.close();
    const service = services.closeAfterTest(
      await before.startReplica({ rpcUrl: [first.url, spare.url], requestTimeoutMs: 200_000 }),
    );
    first.script = ({ raws }) => {
      if (raws.length === 0) return undefined;
      void first.close();
      return { kind: "reset", carriedOut: true };
    };
    spare.onSends(REFUSES);
    expect((await service.submit([innerOf(1)])).map(outcomeOf)).toEqual(["success"]);
    expect(await countFailed(service)).toBe(0);
    spare.script = undefined;
    spare.mine();
    await service.until("select from submissions having bool_and(state = 'included')");
  });
});

describe("a result that is not the wrapper's hash", () => {
  it.each([null, "", {}, false, `0x${"12".repeat(32)}`])(
    "such as %j is no success, and the transaction runs once a node has it",
    async (result) => {
      const service = await services.start({ requestTimeoutMs: 700 });
      service.node.onSends({
        kind: "answer",
        status: 200,
        body: JSON.stringify({ jsonrpc: "2.0", id: 0, result }),
      });
      expect((await service.submit([innerOf(1)])).map(outcomeOf)).toEqual([
        expect.stringMatching(/^TIMEOUT\//),
      ]);
      await includeAll(service);
      expect(service.node.chain.executed).toEqual([hashOf(innerOf(1))]);
    },
  );
});

describe("an error of a whole request", () => {
  it.each([
    ["HTTP 402", { kind: "answer", status: 402, body: BILL }],
    ["HTTP 403", { kind: "answer", status: 403, body: BILL.replace("null", "0") }],
    [
      "HTTP 500",
      { kind: "answer", status: 500, body: BILL.replace("Insufficient balance", "insufficient funds") },
    ],
    [
      "no id",
      { kind: "answer", status: 200, body: BILL.replace("Insufficient balance", "insufficient funds") },
    ],
  ] satisfies [string, Misbehaviour][])("with %s fails none of its twenty sends", async (_, misbehaviour) => {
    const service = await services.start({ requestTimeoutMs: 500 });
    service.node.onSends(misbehaviour);
    const lines = await service.submit(batch(20));
    expect(lines.map(outcomeOf)).toEqual(Array(20).fill(expect.stringMatching(/^TIMEOUT\//)));
    expect(await countFailed(service)).toBe(0);
    await includeAll(service);
    expect(new Set(service.node.chain.executed).size).toBe(20);
    expect(service.node.chain.executed).toHaveLength(20);
  });
});

describe("an answer that spoils one call of many", () => {
  it("by refusing lists of more than 20 receipts keeps back no outcome", async () => {
    const service = await services.start();
    const error = { code: -32_003, message: "batch response too large" };
    service.node.script = ({ methods }) =>
      methods.filter((method) => method === "eth_getTransactionReceipt").length > 20
        ? { kind: "answer", status: 200, body: JSON.stringify({ jsonrpc: "2.0", id: null, error }) }
        : undefined;
    const lines = await service.submit(batch(60), INCLUDED);
    expect(lines.map(outcomeOf)).toEqual(Array(60).fill("success"));
  });

  it.each([{ blockHash: null }, { gasUsed: `0x${"f".repeat(18)}` }, { blockNumber: `0x${"f".repeat(18)}` }])(
    "with a malformed receipt, as with %j, keeps back that outcome alone",
    async (malformed) => {
      const service = await services.start({}, { automine: false });
      const spoilt = innerOf(1);
      let isSpoilt = true;
      service.node.answers.eth_getTransactionReceipt = ([hash], answer) => {
        const receipt = answer();
        return isSpoilt && hash === hashOf(spoilt) && receipt ? { ...receipt, ...malformed } : receipt;
      };
      const waiting = service.submit([spoilt], INCLUDED);
      const others = service.submit(batch(10, 2), INCLUDED);
      await service.until("select from submissions where state = 'broadcast' having count(*) = 11");
      service.node.mine();
      expect((await others).map(outcomeOf)).toEqual(Array(10).fill("success"));
      isSpoilt = false;
      expect((await waiting).map(outcomeOf)).toEqual(["success"]);
    },
  );

  it("by an error to each look-up of an unknown hash, after one unclear answer, holds up nobody else", async () => {
    const service = await services.start();
    const poison = innerOf(1);
    service.node.answers.eth_getTransactionByHash = (_, answer) => {
      const found = answer();
      if (found === null) throw new RefusedByNode("transaction indexing is in progress");
      return found;
    };
    service.node.onSends({
      kind: "error",
      of: (raw) => (carries(raw, poison) ? { code: -32_000, message: "computer says no" } : undefined),
    });
    service.post(JSON.stringify({ transactions: [poison] })).catch(() => {});
    await service.node.until(({ sent }) => sent.length > 0);
    expect((await service.submit(batch(10, 2), INCLUDED)).map(outcomeOf)).toEqual(Array(10).fill("success"));
  });

  it("by an unknown error for a moment takes no nonce from the wrappers that it spoils", async () => {
    const service = await services.start({}, { automine: false });
    const spoilt = batch(3, 4);
    const refused: Hex[] = [];
    service.node.onSends({
      kind: "error",
      of: (raw) => {
        if (!spoilt.some((inner) => carries(raw, inner)) || refused.includes(raw)) return undefined;
        refused.push(raw);
        return { code: -32_000, message: "computer says no" };
      },
    });
    expect((await service.submit(batch(6))).map(outcomeOf)).toEqual(Array(6).fill("success"));
    expect(refused).toHaveLength(spoilt.length);
    expect(await service.query("select from unfinished where signings > 1")).toEqual([]);
  });

  it("by refusing each request with one wrapper keeps the others from nothing", async () => {
    const service = await services.start();
    const poison = innerOf(30);
    service.node.script = ({ raws }) =>
      raws.some((raw) => carries(raw, poison))
        ? { kind: "answer", status: 403, body: "forbidden" }
        : undefined;
    const lines = service.submit(batch(60));
    await service.node.until(({ chain }) => chain.executed.length === 59);
    service.node.script = undefined;
    expect((await lines).map(outcomeOf)).toEqual(Array(60).fill("success"));
  });
});
