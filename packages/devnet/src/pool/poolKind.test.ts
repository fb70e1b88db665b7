import { type Hex, hexToBytes } from "@gas-waiver/protocol";
import { afterEach, describe, expect, it } from "vitest";
import {
  addressOf,
  createTestNode,
  hashOf,
  signInner,
  signOrdinary,
  type TestNode,
  wrap,
} from "../../test/support/testNode.js";
import { toRpcError } from "../rpc/errors.js";

let node: TestNode;
afterEach(() => node.devnet.close());

/** The JSON-RPC error of a refused transaction. */
async function refusal(raw: Hex): Promise<{ code: number; message: string; data: unknown }> {
  const error = await node.send(raw).then(() => undefined, toRpcError);
  if (error === undefined) throw new Error("the node accepted the transaction");
  return { code: error.code, message: error.message, data: error.data };
}
const to = hexToBytes(addressOf(0));
const pay = (changes: object) => signOrdinary(13, { to, data: new Uint8Array(), ...changes });
const price = (gwei: bigint) => gwei * 10n ** 9n;

describe("a strict pool, as on CometBFT chains", () => {
  it("refuses nonces that do not directly follow the pool, in the words of CometBFT chains", async () => {
    node = await createTestNode({ pool: "strict" });
    expect(await refusal(wrap(signInner(0), { nonce: 1n }))).toEqual({
      code: -32000,
      message: "wrapper nonce: invalid nonce; got 1, expected 0: invalid sequence",
      data: {
        reason: "WRAPPER_NONCE_GAP",
        check: "wrapper nonce",
        waiver: addressOf(10),
        nonce: "1",
        expected: "0",
      },
    });
    await node.send(wrap(signInner(0)));
    expect(await refusal(wrap(signInner(1)))).toMatchObject({
      message: "wrapper nonce: invalid nonce; got 0, expected 1: invalid sequence",
      data: { reason: "WRAPPER_NONCE_TOO_LOW" },
    });
    expect(await refusal(wrap(signInner(1), { nonce: 3n }))).toMatchObject({
      message: "wrapper nonce: invalid nonce; got 3, expected 1: invalid sequence",
    });
    await node.send(wrap(signInner(1), { nonce: 1n }));
    await node.devnet.mine();
    expect(await node.nonce(10)).toBe(2n);
  });

  it("refuses likewise for the inner's own nonce and for ordinary transactions", async () => {
    node = await createTestNode({ pool: "strict" });
    await node.send(wrap(signInner(0)));
    expect(await refusal(wrap(signInner(0, { gasLimit: 90_000n }), { waiver: 11 }))).toMatchObject({
      message: "inner nonce: invalid nonce; got 0, expected 1: invalid sequence",
      data: { reason: "NONCE_TOO_LOW" },
    });
    expect(await refusal(wrap(signInner(0, { nonce: 2n }), { waiver: 11 }))).toMatchObject({
      message: "inner nonce: invalid nonce; got 2, expected 1: invalid sequence",
      data: { reason: "NONCE_GAP" },
    });
    await node.send(wrap(signInner(0, { nonce: 1n }), { waiver: 11 }));
    expect(await refusal(pay({ nonce: 2n }))).toMatchObject({
      message: "invalid nonce; got 2, expected 0: invalid sequence",
      data: { reason: "NONCE_GAP" },
    });
    await node.send(pay({ nonce: 0n }));
    // A strict pool does not replace, whatever the price.
    expect(await refusal(pay({ nonce: 0n, gasPrice: price(5n) }))).toMatchObject({
      message: "invalid nonce; got 0, expected 1: invalid sequence",
    });
    await node.devnet.mine();
    expect(node.devnet.drops()).toEqual([]);
    expect(await node.nonce(0)).toBe(2n);
  });

  it("refuses known bytes", async () => {
    node = await createTestNode({ pool: "strict" });
    const raw = wrap(signInner(0));
    await node.send(raw);
    expect(await refusal(raw)).toMatchObject({
      message: `already known: ${hashOf(raw)} is in the pool`,
      data: { reason: "ALREADY_KNOWN" },
    });
  });

  it("can be switched on and off while the chain runs", async () => {
    node = await createTestNode();
    const late = wrap(signInner(1), { nonce: 1n });
    await node.rpc("devnet_setPool", "strict");
    expect(await refusal(late)).toMatchObject({ data: { reason: "WRAPPER_NONCE_GAP" } });
    await node.rpc("devnet_setPool", "queued");
    await node.send(late);
    await expect(node.rpc("devnet_setPool", "loose")).rejects.toThrow(
      'pool is "loose", not queued or strict',
    );
  });

  it("drops with the next block the transactions that an eviction left behind a gap", async () => {
    node = await createTestNode({ pool: "strict" });
    const wrappers = [
      wrap(signInner(0)),
      wrap(signInner(0, { nonce: 1n }), { waiver: 11 }),
      wrap(signInner(1), { nonce: 1n }),
    ];
    for (const raw of wrappers) await node.send(raw);
    const evicted = await node.rpc<Hex[]>("devnet_evictPool", 2);
    const remaining = wrappers.filter((raw) => !evicted.includes(hashOf(raw)));
    await node.devnet.mine();
    expect(await node.rpc("txpool_status")).toEqual({ pending: "0x0", queued: "0x0" });
    const ran = await node.nonce(10);
    expect(node.devnet.drops().map(({ hash }) => hash)).toEqual(ran === 1n ? [] : remaining.map(hashOf));
    // Dropped and evicted transactions can be sent again.
    for (const raw of ran === 1n ? wrappers.slice(1) : wrappers) await node.send(raw);
    await node.devnet.mine();
    expect([await node.nonce(0), await node.nonce(1), await node.nonce(10)]).toEqual([2n, 1n, 2n]);
  });

  it("accepts one of two concurrent transactions with the same nonce", async () => {
    node = await createTestNode({ pool: "strict" });
    const results = await Promise.allSettled([0, 1].map((user) => node.send(wrap(signInner(user)))));
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  });
});

describe("a queued pool, as in geth", () => {
  it("words its refusals as geth does", async () => {
    node = await createTestNode();
    const raw = wrap(signInner(0));
    await node.send(raw);
    expect(await refusal(wrap(signInner(1)))).toMatchObject({
      message: expect.stringMatching(/^replacement transaction underpriced: /),
      data: { reason: "REPLACEMENT_UNDERPRICED", holder: hashOf(raw), nonce: "0", signer: addressOf(10) },
    });
    await node.devnet.mine();
    expect(await refusal(wrap(signInner(1)))).toMatchObject({
      message: "wrapper nonce: nonce too low: next nonce 1, tx nonce 0",
      data: { reason: "WRAPPER_NONCE_TOO_LOW", nonce: "0", expected: "1" },
    });
    await node.sendAndMine(pay({}));
    expect(await refusal(pay({ value: 1n }))).toMatchObject({
      message: "nonce too low: next nonce 1, tx nonce 0",
      data: { reason: "NONCE_TOO_LOW" },
    });
  });

  it("replaces a transaction only by one that pays at least a tenth more", async () => {
    node = await createTestNode();
    const first = pay({ gasPrice: price(10n) });
    await node.send(first);
    expect(await refusal(pay({ gasPrice: price(11n) - 1n }))).toMatchObject({
      data: { reason: "REPLACEMENT_UNDERPRICED" },
    });
    const second = pay({ gasPrice: price(11n) });
    await node.send(second);
    expect(await node.rpc("eth_getTransactionByHash", hashOf(first))).toBeNull();
    expect(node.devnet.drops()).toMatchObject([{ hash: hashOf(first), reason: "REPLACED" }]);
    await node.devnet.mine();
    expect(await node.receipt(hashOf(second))).toMatchObject({ status: "0x1" });
    expect(await node.nonce(13)).toBe(1n);
  });

  it("limits the transactions of one account, and those behind its nonce gap", async () => {
    node = await createTestNode({ accountPoolLimit: 4, accountQueueLimit: 2 });
    const wrapperAt = (nonce: bigint, waiver = 10) =>
      wrap(signInner(Number(nonce % 10n), { nonce: nonce / 10n }), { nonce, waiver });
    await node.send(wrapperAt(5n));
    await node.send(wrapperAt(6n));
    expect(await refusal(wrapperAt(7n))).toMatchObject({
      message: `txpool is full: ${addressOf(10)} has 2 transactions behind a gap, nonce 0 is missing`,
      data: { reason: "POOL_FULL", limit: 2, signer: addressOf(10) },
    });
    await node.send(wrapperAt(0n));
    await node.send(wrapperAt(1n));
    expect(await refusal(wrapperAt(2n))).toMatchObject({
      message: `txpool is full: ${addressOf(10)} has 4 transactions in it`,
      data: { reason: "POOL_FULL", limit: 4 },
    });
    await node.send(wrap(signInner(4), { waiver: 11 }));
  });

  it("is shown by txpool_status, content, contentFrom and inspect", async () => {
    node = await createTestNode();
    const [ready, late] = [wrap(signInner(0)), wrap(signInner(1), { nonce: 5n })];
    for (const raw of [ready, late, pay({})]) await node.send(raw);
    expect(await node.rpc("txpool_status")).toEqual({ pending: "0x2", queued: "0x1" });
    const content =
      await node.rpc<Record<string, Record<Hex, Record<string, { hash: Hex }>>>>("txpool_content");
    expect(content.pending?.[addressOf(10)]?.["0"]?.hash).toBe(hashOf(ready));
    expect(content.queued?.[addressOf(10)]?.["5"]?.hash).toBe(hashOf(late));
    expect(await node.rpc("txpool_contentFrom", addressOf(13))).toMatchObject({
      pending: { "0": { hash: hashOf(pay({})) } },
      queued: {},
    });
    expect(await node.rpc("txpool_inspect")).toMatchObject({
      pending: { [addressOf(13)]: { "0": `${addressOf(0)}: 0 wei + 100000 gas × 1000000000 wei` } },
    });
  });
});
