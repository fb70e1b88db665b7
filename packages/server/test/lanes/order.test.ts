// The order of nonces: those of a user (D20), and those of a waiver, of which none is ever skipped.
import {
  bytesToHex,
  decodeInnerTx,
  decodeTransaction,
  type Hex,
  hashTransaction,
  hexToBytes,
  signWrapperTxWithKey,
} from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import type { PoolKind } from "../support/modelChain.js";
import { outcomeOf, testServices, txHashOf } from "../support/testService.js";
import { hashOf, innerOf, userAddress, WAIVER, WAIVER_KEY } from "../support/user.js";

const services = testServices({ patience: { speed: 10 } });
const POOLS: PoolKind[] = ["strict", "queued"];

/** A fixed order that is neither that of the nonces nor its reverse. */
function shuffled<T>(items: readonly T[]): T[] {
  return items.map((_, i) => items[(i * 37 + 11) % items.length] as T);
}

describe("a user's nonces", () => {
  it("are sent in order, whatever the order of a batch of 100 from 10 users", async () => {
    const service = await services.start();
    const batch = shuffled([...Array(100).keys()].map((i) => innerOf(1 + (i % 10), Math.floor(i / 10))));
    const lines = await service.submit(batch, { query: "?wait=included" });
    expect(lines.map(txHashOf)).toEqual(batch.map(hashOf));
    expect(service.node.chain.executed).toHaveLength(100);
    for (let user = 1; user <= 10; user++) {
      expect(service.node.chain.nonceOf(userAddress(user))).toBe(10n);
    }
    expect(service.node.sent.map(nonceOf)).toEqual([...Array(100).keys()].map(BigInt));
  });

  it("that are used already get NONCE_TOO_LOW, which names the next nonce", async () => {
    const service = await services.start();
    service.node.chain.setNonce(userAddress(1), 7n);
    const [line] = await service.submit([innerOf(1, 6)]);
    expect(outcomeOf(line)).toBe("VALIDATION_FAILED/NONCE_TOO_LOW");
    expect(line).toMatchObject({ error: { message: expect.stringContaining("7") } });
    expect((await service.submit([innerOf(1, 7)])).map(outcomeOf)).toEqual(["success"]);
  });

  it("that are ahead of their turn wait for their predecessor", async () => {
    const service = await services.start();
    const lines = service.stream([innerOf(1, 1)]);
    const later = lines.next();
    await service.node.nextCall("eth_getTransactionCount");
    expect(service.node.sent).toEqual([]);
    expect((await service.submit([innerOf(1, 0)])).map(outcomeOf)).toEqual(["success"]);
    expect((await later).value).toMatchObject({ success: true });
    expect(service.node.chain.executed).toEqual([hashOf(innerOf(1, 0)), hashOf(innerOf(1, 1))]);
  });

  it("that wait too long get NONCE_GAP, and may be sent again", async () => {
    const service = await services.start({ nonceGapTimeoutMs: 100 });
    const [line] = await service.submit([innerOf(1, 3)]);
    expect(outcomeOf(line)).toBe("VALIDATION_FAILED/NONCE_GAP");
    const gap = "nonce 3 is ahead of the sender's next, 0, which did not come within 100 ms";
    expect(JSON.stringify(line)).toContain(gap);
    expect(service.node.sent).toEqual([]);
    service.node.chain.setNonce(userAddress(1), 3n);
    expect((await service.submit([innerOf(1, 3)])).map(outcomeOf)).toEqual(["success"]);
  });

  it("that two InnerTxs have let the first go and give the second NONCE_CONFLICT, which names the first", async () => {
    const service = await services.start({}, { automine: false });
    const rival = innerOf(1, 0, { gasLimit: 90_000n });
    const [first, second] = await service.submit([innerOf(1), rival]);
    expect([first, second].map(outcomeOf)).toEqual(["success", "VALIDATION_FAILED/NONCE_CONFLICT"]);
    expect(second).toMatchObject({ error: { message: expect.stringContaining(first?.id ?? "?") } });
    service.node.mine();
    expect(service.node.chain.executed).toEqual([hashOf(innerOf(1))]);
  });
});

describe.each(POOLS)("with a %s pool, a refusal in the middle of a batch", (pool) => {
  it("leaves no nonce gap in the lane: all others run", async () => {
    const service = await services.start({}, { pool });
    const batch = [1, 2, 3, 4, 5].map((user) => innerOf(user));
    service.node.chain.refused.set(hashOf(innerOf(3)), "TARGET_NOT_ALLOWED");
    const lines = await service.submit(batch, { query: "?wait=included" });
    expect(lines.map(outcomeOf).sort()).toEqual([
      "VALIDATION_FAILED/TARGET_NOT_ALLOWED",
      ...Array(4).fill("success"),
    ]);
    expect(service.node.chain.executed).toHaveLength(4);
    expect(service.node.chain.nonceOf(WAIVER)).toBe(4n);
  });

  it("leaves no nonce gap if all transactions after it are of one user", async () => {
    const service = await services.start({ resendAfterMs: 50 }, { pool });
    const [first, second] = [1, 2];
    service.node.chain.refused.set(hashOf(innerOf(first)), "TARGET_NOT_ALLOWED");
    const later = [0, 1, 2, 3].map((nonce) => innerOf(second, nonce));
    const lines = await service.submit([innerOf(first), ...later], { query: "?wait=included" });
    expect(lines.map(outcomeOf)).toEqual([
      "VALIDATION_FAILED/TARGET_NOT_ALLOWED",
      ...Array(4).fill("success"),
    ]);
    expect(service.node.chain.executed).toEqual(later.map(hashOf));
  });

  it("does not hold up other users; the user's later nonces run when the refused nonce is submitted again", async () => {
    const service = await services.start({ resendAfterMs: 50 }, { pool });
    const batch = [0, 1, 2].map((nonce) => innerOf(1, nonce));
    service.node.chain.refused.set(hashOf(innerOf(1)), "TARGET_NOT_ALLOWED");
    const lines = service.stream(batch, "?wait=included");
    expect((await lines.next()).value).toMatchObject({ index: 0, success: false });
    const otherUsers = [2, 3, 4, 5].map((user) => innerOf(user));
    const mining = setInterval(() => service.node.mine(), 20);
    const outcomes = (await service.submit(otherUsers, { query: "?wait=included" })).map(outcomeOf);
    expect(outcomes).toEqual(Array(4).fill("success"));
    const replacement = innerOf(1, 0, { gasLimit: 90_000n });
    expect((await service.submit([replacement])).map(outcomeOf)).toEqual(["success"]);
    expect((await lines.next()).value).toMatchObject({ success: true });
    expect((await lines.next()).value).toMatchObject({ success: true });
    clearInterval(mining);
    const ofUser = [replacement, ...batch.slice(1)].map(hashOf);
    expect(service.node.chain.executed.filter((hash) => ofUser.includes(hash))).toEqual(ofUser);
    expect(service.node.chain.executed).toHaveLength(7);
  });
});

describe("a user's later nonce that a queueing pool accepted although the earlier one was refused", () => {
  it("is not reported as a success, not even after a crash, and runs when the earlier nonce is submitted again", async () => {
    const service = await services.start({ resendAfterMs: 50 }, { pool: "queued" });
    const [earlier, later] = [innerOf(1, 0), innerOf(1, 1)];
    service.node.chain.refused.set(hashOf(earlier), "TARGET_NOT_ALLOWED");
    const first = service.stream([earlier, later]);
    expect((await first.next()).value).toMatchObject({ index: 0, success: false });
    await service.until("select from unfinished where state = 'queued'");
    await service.server.close();
    // Sets the store back, as if the process had been killed after the pool accepted the wrapper and before the store knew.
    const wrapper = hexToBytes(service.node.sent[1] ?? "0x");
    await service.query(
      `update unfinished set state = 'signed', waiver_nonce = $1, wrapper_raw = $2, wrapper_hash = $3, signings = 1`,
      [nonceOf(bytesToHex(wrapper)).toString(), wrapper, hashTransaction(decodeTransaction(wrapper))],
    );
    await service.query(`
      create table steps (state submission_state);
      create function keep_step() returns trigger language plpgsql as $$
        begin insert into steps values (new.state); return new; end $$;
      create trigger keep_step after update on unfinished for each row execute function keep_step()`);
    const next = services.closeAfterTest(await service.startReplica({ resendAfterMs: 50 }));
    await next.until("select from unfinished where state = 'queued'");
    expect(await next.query("select from steps where state = 'broadcast'")).toEqual([]);
    const lines = next.stream([later], "?wait=included");
    expect((await next.submit([innerOf(1, 0, { gasLimit: 90_000n })])).map(outcomeOf)).toEqual(["success"]);
    expect((await lines.next()).value).toMatchObject({ success: true });
  });
});

describe.each(POOLS)("with a %s pool, a waiver's nonce that another program's wrapper uses", (pool) => {
  it("makes the submission that had it run under another nonce, once", async () => {
    const service = await services.start({ rpcTimeoutMs: 150 }, { pool, automine: false });
    service.node.once({ kind: "silence", carriedOut: false });
    const lines = service.submit([innerOf(1), innerOf(2)], { query: "?wait=included" });
    await service.node.until(({ sent }) => sent.length === 2);
    service.node.chain.addToPool(wrapped(innerOf(9), 0n));
    service.node.mine();
    service.node.automine = true;
    expect((await lines).map(outcomeOf)).toEqual(["success", "success"]);
    expect([...service.node.chain.executed].sort()).toEqual([9, 1, 2].map((u) => hashOf(innerOf(u))).sort());
  });

  it("does not fail the user's later nonces in flight", async () => {
    const changes = { rpcTimeoutMs: 150, resendAfterMs: 50 };
    const service = await services.start(changes, { pool, automine: false });
    service.node.once({ kind: "silence", carriedOut: false });
    const lines = service.submit([innerOf(1, 0), innerOf(1, 1)], { query: "?wait=included" });
    await service.node.until(({ sent }) => sent.length === 2);
    service.node.chain.addToPool(wrapped(innerOf(9), 0n));
    service.node.mine();
    service.node.automine = true;
    const mining = setInterval(() => service.node.mine(), 20);
    expect((await lines).map(outcomeOf)).toEqual(["success", "success"]);
    clearInterval(mining);
    expect(service.node.chain.executed).toEqual([innerOf(9), innerOf(1, 0), innerOf(1, 1)].map(hashOf));
  });

  it("counts as an inclusion if that wrapper carries the same InnerTx", async () => {
    const service = await services.start({ rpcTimeoutMs: 150 }, { pool, automine: false });
    service.node.once({ kind: "silence", carriedOut: false });
    const lines = service.submit([innerOf(1)], { query: "?wait=included" });
    await service.node.until(({ sent }) => sent.length === 1);
    service.node.chain.addToPool(wrapped(innerOf(1), 0n, 60_000n));
    service.node.mine();
    expect((await lines).map(outcomeOf)).toEqual(["success"]);
    expect((await service.submit([innerOf(2)])).map(outcomeOf)).toEqual(["success"]);
  });
});

function wrapped(inner: Hex, nonce: bigint, verificationGas = 50_000n): Uint8Array {
  return signWrapperTxWithKey(decodeInnerTx(hexToBytes(inner)), WAIVER_KEY, { nonce, verificationGas }).raw;
}

function nonceOf(raw: Hex): bigint {
  return decodeTransaction(hexToBytes(raw)).nonce;
}
