// A chain node that is away, refuses wrappers, or gives bad answers: the client's result, and the submission's outcome.
import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Misbehaviour } from "../support/scriptedNode.js";
import { outcomeOf, testServices, txHashOf } from "../support/testService.js";
import { hashOf, innerOf, WAIVER } from "../support/user.js";

const services = testServices();

describe("a node that is away", () => {
  it("ends a result line with TIMEOUT/NOT_BROADCAST, and the submission completes later (D17)", async () => {
    const service = await services.start({ requestTimeoutMs: 200 });
    await service.node.close();
    const [line] = await service.submit([innerOf(1)]);
    expect(outcomeOf(line)).toBe("TIMEOUT/NOT_BROADCAST");
    await service.node.open();
    await service.node.until(({ chain }) => chain.executed.length === 1);
    const patient = services.closeAfterTest(await service.startReplica({ requestTimeoutMs: 200_000 }));
    const [again] = await patient.submit([innerOf(1)], { query: "?wait=included" });
    expect(again).toEqual({ index: 0, id: line?.id, success: true, txHash: hashOf(innerOf(1)) });
    expect(service.node.chain.executed).toEqual([hashOf(innerOf(1))]);
  });

  it("and a node that gives a bad answer to every call have the same effect", async () => {
    const service = await services.start({ requestTimeoutMs: 150, rpcTimeoutMs: 50 });
    for (const [i, [name, misbehaviour]] of BAD_ANSWERS.entries()) {
      service.node.script = () => misbehaviour;
      const [line] = await service.submit([innerOf(i + 1)]);
      expect([name, outcomeOf(line)]).toEqual([name, "TIMEOUT/NOT_BROADCAST"]);
      service.node.script = undefined;
      await service.node.until(({ chain }) => chain.executed.length === i + 1);
    }
  });
});

const BAD_ANSWERS: readonly (readonly [name: string, misbehaviour: Misbehaviour])[] = [
  ["500", { kind: "answer", status: 500, body: "Internal Server Error" }],
  ["429", { kind: "answer", status: 429, body: "Too Many Requests" }],
  ["a body that is not JSON", { kind: "answer", status: 200, body: "<html>welcome</html>" }],
  ["an empty body", { kind: "answer", status: 200, body: "" }],
  ["an empty batch", { kind: "answer", status: 200, body: "[]" }],
  ["a reset connection", { kind: "reset", carriedOut: false }],
  ["silence", { kind: "silence", carriedOut: false }],
];

describe("an ambiguous answer to a broadcast", () => {
  it.each([
    ["a connection that broke after the node took it", { kind: "reset", carriedOut: true }],
    ["a connection that broke before", { kind: "reset", carriedOut: false }],
    ["a time-out after the node took it", { kind: "silence", carriedOut: true }],
    ["a time-out before", { kind: "silence", carriedOut: false }],
    ["an HTTP error of a proxy", { kind: "answer", status: 502, body: "Bad Gateway" }],
  ] satisfies [string, Misbehaviour][])(
    "%s: the same bytes again, never another nonce, executed once",
    async (_, misbehaviour) => {
      const service = await services.start({ rpcTimeoutMs: 100 }, { automine: false });
      service.node.once(misbehaviour);
      const lines = await service.submit([innerOf(1), innerOf(2)]);
      expect(lines.map(txHashOf)).toEqual([hashOf(innerOf(1)), hashOf(innerOf(2))]);
      service.node.mine();
      expect(service.node.chain.executed).toHaveLength(2);
      expect(service.node.sent.slice(0, 2)).toEqual(service.node.sent.slice(2, 4));
      expect(new Set(service.node.sent).size).toBe(2);
      expect(service.node.chain.nonceOf(WAIVER)).toBe(2n);
      expect((await service.submit([innerOf(3)])).map(outcomeOf)).toEqual(["success"]);
    },
  );

  it("is TIMEOUT/OUTCOME_UNKNOWN for the client while the node stays silent", async () => {
    const service = await services.start({ rpcTimeoutMs: 100 }, { automine: false });
    let isSilent = false;
    service.node.script = ({ raws }) => {
      isSilent ||= raws.length > 0;
      return isSilent ? { kind: "silence", carriedOut: true } : undefined;
    };
    const patient = service.submit([innerOf(1)]);
    await service.node.until(({ sent }) => sent.length > 0);
    // The same transaction, on a replica with a short time-out. It is signed by now.
    const hasty = services.closeAfterTest(await service.startReplica({ requestTimeoutMs: 50 }));
    expect((await hasty.submit([innerOf(1)])).map(outcomeOf)).toEqual(["TIMEOUT/OUTCOME_UNKNOWN"]);
    service.node.script = undefined;
    expect((await patient).map(outcomeOf)).toEqual(["success"]);
  });

  it("is a success as soon as the node shows the wrapper, although it answers no send", async () => {
    const service = await services.start({ rpcTimeoutMs: 100 }, { automine: false });
    service.node.onSends({ kind: "silence", carriedOut: true });
    expect((await service.submit([innerOf(1)])).map(outcomeOf)).toEqual(["success"]);
  });

  it("to a part of a batch: the rest is sent again and runs once", async () => {
    const service = await services.start();
    service.node.once({ kind: "partial", answered: 2 });
    const batch = [1, 2, 3, 4].map((user) => innerOf(user));
    expect((await service.submit(batch)).map(outcomeOf)).toEqual(Array(4).fill("success"));
    await service.node.until(({ chain }) => chain.executed.length === 4);
    expect(new Set(service.node.sent).size).toBe(4);
  });
});

describe("a node that answers an unknown error", () => {
  const unknownError = { code: -32_603, message: "the moon is full" };
  const BLOCK_MS = 100;
  /** The node answers the error to the wrappers of user 1 alone. */
  const onlyToUser1 = (raw: string) => (raw.includes(innerOf(1).slice(2)) ? unknownError : undefined);

  it("fails nothing (D28): the InnerTxs go out again, and run once the node works", async () => {
    const service = await services.start({ requestTimeoutMs: 400 });
    service.node.onSends({ kind: "error", of: () => unknownError });
    const lines = await service.submit([innerOf(1), innerOf(2)]);
    expect(lines.map(outcomeOf)).not.toContain("BROADCAST_FAILED/NODE_REFUSED");
    await service.node.until(({ sent }) => sent.length >= 6);
    service.node.script = undefined;
    await service.until("select from submissions having count(*) filter (where state = 'included') = 2");
    expect(service.node.chain.executed).toHaveLength(2);
  });

  it("to one wrapper alone sets it aside: others run at once, and it runs when the node accepts it", async () => {
    const service = await services.start();
    service.node.onSends({ kind: "error", of: onlyToUser1 });
    const stuck = service.submit([innerOf(1)]);
    const otherLines = await service.submit([2, 3, 4, 5].map((user) => innerOf(user)));
    expect(otherLines.map(outcomeOf)).toEqual(Array(4).fill("success"));
    expect((await service.submit([innerOf(6)])).map(outcomeOf)).toEqual(["success"]);
    service.node.script = undefined;
    expect((await stuck).map(outcomeOf)).toEqual(["success"]);
    await service.until("select from submissions having bool_and(state = 'included')");
    expect(service.node.chain.executed).toHaveLength(6);
  });

  it("to one wrapper for ever ends it after maxQueueMs, once other transactions have used its nonces", async () => {
    const service = await services.start({
      maxQueueMs: 1_000,
      sweepIntervalMs: 200,
    });
    service.node.onSends({ kind: "error", of: onlyToUser1 });
    let isEnded = false;
    const poisoned = service.submit([innerOf(1)]).finally(() => {
      isEnded = true;
    });
    await service.node.until(({ sent }) => sent.length >= 2);
    expect((await service.submit([innerOf(2, 0)])).map(outcomeOf)).toEqual(["success"]);
    // Some blocks a second, as a chain has, however fast the machine is.
    for (let nonce = 1; !isEnded; nonce++) {
      await service.submit([innerOf(2, nonce)], { query: "?wait=included" });
      await Promise.race([poisoned, setTimeout(BLOCK_MS)]);
    }
    expect((await poisoned).map(outcomeOf)).toEqual(["TIMEOUT/NOT_BROADCAST"]);
    expect(service.node.chain.executed).not.toContain(hashOf(innerOf(1)));
  });

  it("but has accepted the wrapper, gives a success", async () => {
    const service = await services.start({}, { automine: false });
    await service.submit([innerOf(1)]);
    let sends = 0;
    service.node.script = ({ raws }) => {
      if (raws.length === 0 || sends++ > 0) return undefined;
      return { kind: "error", of: (raw) => acceptWithError(raw) };
    };
    const acceptWithError = (raw: `0x${string}`) => {
      service.node.chain.addToPool(Buffer.from(raw.slice(2), "hex"));
      return { code: -32_000, message: "the moon is full" };
    };
    expect((await service.submit([innerOf(2)])).map(outcomeOf)).toEqual(["success"]);
    expect(await service.query("select from unfinished where signings > 1")).toEqual([]);
  });
});

describe("a node that names the rule in its refusal", () => {
  it.each([
    ["TARGET_NOT_ALLOWED", "VALIDATION_FAILED/TARGET_NOT_ALLOWED"],
    ["WRAPPER_GAS_LIMIT_TOO_LOW", "BROADCAST_FAILED/WRAPPER_GAS_LIMIT_TOO_LOW"],
    ["INSUFFICIENT_BALANCE", "VALIDATION_FAILED/INSUFFICIENT_BALANCE"],
  ])("%s gives %s at once, and the lane goes on", async (reason, outcome) => {
    const service = await services.start();
    service.node.chain.refused.set(hashOf(innerOf(1)), reason);
    expect((await service.submit([innerOf(1)])).map(outcomeOf)).toEqual([outcome]);
    expect(service.node.sent).toHaveLength(1);
    expect((await service.submit([innerOf(2)])).map(outcomeOf)).toEqual(["success"]);
    expect(service.node.chain.nonceOf(WAIVER)).toBe(1n);
  });

  it("and refuses the waiver keeps the InnerTx queued until the waiver is registered again", async () => {
    const service = await services.start();
    service.node.chain.revoked.add(WAIVER);
    const patient = service.submit([innerOf(1)]);
    await service.until("select from lanes where broken_until > now()");
    // The same transaction, on a replica with a short time-out. It has been refused and requeued by now.
    const hasty = services.closeAfterTest(await service.startReplica({ requestTimeoutMs: 50 }));
    expect((await hasty.submit([innerOf(1)])).map(outcomeOf)).toEqual(["TIMEOUT/NOT_BROADCAST"]);
    service.node.chain.revoked.clear();
    expect((await patient).map(outcomeOf)).toEqual(["success"]);
    expect(service.node.chain.executed).toEqual([hashOf(innerOf(1))]);
  });
});

describe("a pool that loses a wrapper", () => {
  it("gets the same bytes again after resendAfterMs", async () => {
    const service = await services.start({ resendAfterMs: 60 }, { automine: false });
    service.node.once({ kind: "forget" });
    expect((await service.submit([innerOf(1), innerOf(2)])).map(outcomeOf)).toEqual(["success", "success"]);
    await service.node.until(({ chain }) => chain.pending.length === 2);
    service.node.mine();
    expect(new Set(service.node.sent).size).toBe(2);
    const included = await service.submit([innerOf(1), innerOf(2)], { query: "?wait=included" });
    expect(included.map(outcomeOf)).toEqual(["success", "success"]);
  });
});
