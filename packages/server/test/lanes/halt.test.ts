// A chain that makes no blocks for hours. The clocks of the service and of the database go on, and nobody sleeps.
import { afterEach, describe, expect, it, vi } from "vitest";
import { outcomeOf, type TestService, testServices } from "../support/testService.js";
import { hashOf, innerOf, userAddress } from "../support/user.js";

const services = testServices();
const HALT_MS = 3 * 3_600_000;

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Moves every clock by three hours: the process's two, and the times that the database's clock has written. */
async function passHours(service: TestService): Promise<void> {
  const now = performance.now();
  vi.restoreAllMocks();
  const real = performance.now.bind(performance);
  const ahead = now + HALT_MS - real();
  vi.spyOn(performance, "now").mockImplementation(() => real() + ahead);
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + HALT_MS });
  const earlier = (...columns: string[]) =>
    columns.map((column) => `${column} = ${column} - interval '3 hours'`).join(", ");
  await service.query(
    `update unfinished set ${earlier("accepted_at", "look_at", "signed_at", "broadcast_at")}`,
  );
  await service.query(`update lanes set ${earlier("lease_until", "broken_until")}`);
}

const senderOf = (user: number) => Buffer.from(userAddress(user).slice(2), "hex");

describe.each(["strict", "queued"] as const)("a chain with a %s pool that halts for hours", (pool) => {
  it("gives no wrong answer and fails nothing that was sent, and everything completes by itself afterwards", async () => {
    const options = { requestTimeoutMs: 20_000, resendAfterMs: 500, sweepIntervalMs: 60_000 };
    const service = await services.start(options, { automine: false, pool });
    const { node } = service;
    const inPool = [innerOf(1, 0), innerOf(1, 1), innerOf(2)];
    expect((await service.submit(inPool)).map(outcomeOf)).toEqual(Array(3).fill("success"));

    // The halted node goes on answering, with its last block, and takes what is sent.
    const beforeHours = node.sent.length;
    await passHours(service);
    await node.until(({ sent }) => sent.length > beforeHours);
    const duringHalt = [innerOf(3), innerOf(1, 2)];
    expect((await service.submit(duringHalt)).map(outcomeOf)).toEqual(["success", "success"]);

    // It has forgotten its pool, has no room any more, and then gives no usable answer.
    node.chain.clearPool();
    node.onSends({ kind: "error", of: () => ({ code: -32_000, message: "mempool is full" }) });
    const unclear = innerOf(4);
    const line = service.submit([unclear]);
    await service.until("select from submissions where sender = $1 and state = 'signed'", [senderOf(4)]);
    await node.until(({ sent }) => sent.some((raw) => raw.includes(unclear.slice(2))));
    node.onSends({ kind: "answer", status: 503, body: "no consensus" });

    // A submission that nobody has sent ends by time meanwhile, so the time-outs have passed for the others too.
    const neverSent = service.submit([innerOf(5, 7)]);
    await service.until("select from submissions where sender = $1", [senderOf(5)]);
    await service.query("update unfinished set waiver = '\\x01' where sender = $1", [senderOf(5)]);
    await passHours(service);
    await service.until("select from submissions where error_reason = 'NOT_BROADCAST'");
    const failed = await service.query("select sender from submissions where state = 'failed'");
    expect(failed).toEqual([{ sender: senderOf(5) }]);
    expect((await neverSent).map(outcomeOf)).toEqual(["TIMEOUT/NOT_BROADCAST"]);
    expect(await service.query("select state, foreign_uses from lanes")).toEqual([
      { state: "open", foreign_uses: 0 },
    ]);

    node.script = undefined;
    node.automine = true;
    node.mine();
    expect((await line).map(outcomeOf)).toEqual(["success"]);
    await service.until("select from submissions having bool_and(state in ('included', 'failed'))");
    const expected = [...inPool, ...duringHalt, unclear].map(hashOf);
    expect([...node.chain.executed].sort()).toEqual(expected.sort());
  });
});

describe("a node that refuses whatever it is asked", () => {
  it("is what the lane waits for, in the node's words, and not a block that nobody could have seen", async () => {
    const service = await services.start({}, { automine: false });
    expect((await service.submit([innerOf(1)])).map(outcomeOf)).toEqual(["success"]);
    await service.until("select from submissions where state = 'broadcast'");
    await service.node.nextCall("eth_getTransactionCount");
    service.node.script = () => ({ kind: "answer", status: 402, body: "the balance is exhausted" });
    await passHours(service);
    const [lane] = await service.until<{ waits_cause: string; waits_for: string }>(
      "select waits_cause, waits_for from lanes where waits_cause is not null",
    );
    expect(lane).toMatchObject({
      waits_cause: "nodes",
      waits_for: expect.stringContaining(
        "HTTP 402 without a usable JSON-RPC answer: the balance is exhausted",
      ),
    });
    service.node.script = undefined;
    service.node.mine();
    await service.until("select from submissions where state = 'included'");
  });
});
