import { bytesToHex, type Hex, hexToBytes } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { allowEverything, BYTECODE, place, wordOf } from "../../test/support/bytecode.js";
import {
  addressOf,
  hashOf,
  signInner,
  signOrdinary,
  transferData,
  wrap,
} from "../../test/support/testNode.js";
import { useTestNode } from "../../test/support/useTestNode.js";
import { TEST_TOKEN_ADDRESS } from "../presets/constants.js";

const node = useTestNode();

const trace = (hash: Hex, tracerConfig: object = {}) =>
  node.rpc<Record<string, unknown>>("debug_traceTransaction", hash, { tracer: "callTracer", tracerConfig });

async function sendPaid(to: Hex, data: Uint8Array, changes: object = {}): Promise<Hex> {
  const nonce = await node.nonce(13);
  const raw = signOrdinary(13, { nonce, to: hexToBytes(to), data, gasLimit: 300_000n, ...changes });
  await node.sendAndMine(raw);
  return hashOf(raw);
}

describe("a trace by the callTracer", () => {
  it("of an inner shows its execution, with the receipt's gas", async () => {
    const inner = signInner(0);
    await node.sendAndMine(wrap(signInner(3), { waiver: 11 }), wrap(inner));
    const hash = hashOf(bytesToHex(inner.raw));
    const { gasUsed } = await node.receipt(hash);
    const traced = await trace(hash, { withLog: true });
    expect(traced).toMatchObject({
      type: "CALL",
      from: addressOf(0),
      to: TEST_TOKEN_ADDRESS.toLowerCase(),
      value: "0x0",
      gas: "0x186a0",
      gasUsed,
      output: bytesToHex(wordOf(1n)),
      logs: [{ address: TEST_TOKEN_ADDRESS.toLowerCase(), position: "0x0", topics: expect.any(Array) }],
    });
    expect(traced).not.toHaveProperty("error");
  });

  it("of a wrapper shows no calls, and the error of its inner", async () => {
    const inner = signInner(0, { data: transferData(addressOf(9), 10n ** 30n) });
    await node.sendAndMine(wrap(inner));
    const { gasUsed } = await node.receipt(hashOf(wrap(inner)));
    const traced = await trace(hashOf(wrap(inner)));
    expect(traced).toEqual({
      type: "CALL",
      from: addressOf(10),
      to: "0x000000000000000000000000000000000000f333",
      value: "0x0",
      gas: expect.any(String),
      gasUsed,
      input: bytesToHex(inner.raw),
      error: "execution reverted",
    });
    expect(await trace(hashOf(bytesToHex(inner.raw)))).toMatchObject({
      error: "execution reverted",
      output: expect.stringMatching(/^0x[0-9a-f]{8}/),
    });
  });

  it("names the kinds of calls, their callers and their values", async () => {
    const [asker, recorder, creator, forwarder, destroyer] = await Promise.all(
      (["asker", "recorder", "creator", "forwarder", "destroyer"] as const).map((name, i) =>
        place(node, i, BYTECODE[name]),
      ),
    );
    if (!asker || !recorder || !creator || !forwarder || !destroyer)
      throw new Error("a contract was not placed");
    expect(await trace(await sendPaid(asker, wordOf(recorder)))).toMatchObject({
      calls: [
        // A STATICCALL cannot write a slot.
        { type: "STATICCALL", from: asker, to: recorder, error: "static state change" },
        { type: "DELEGATECALL", from: asker, to: recorder },
      ],
    });
    expect(await trace(await sendPaid(creator, new Uint8Array()))).toMatchObject({
      calls: [{ type: "CREATE", from: creator, to: expect.stringMatching(/^0x/), output: "0x00" }],
    });
    expect(await trace(await sendPaid(forwarder, wordOf(destroyer), { value: 5n }))).toMatchObject({
      value: "0x5",
      calls: [
        {
          type: "CALL",
          from: forwarder,
          to: destroyer,
          value: "0x5",
          calls: [{ type: "SELFDESTRUCT", from: destroyer, to: forwarder, value: "0x5" }],
        },
      ],
    });
    const raw = signOrdinary(13, { nonce: 3n, to: undefined, data: hexToBytes("0x60015ff3") });
    await node.sendAndMine(raw);
    expect(await trace(hashOf(raw))).toMatchObject({
      type: "CREATE",
      to: (await node.receipt(hashOf(raw))).contractAddress,
    });
  });

  it("leaves out the logs of failed calls, and all calls with onlyTopCall", async () => {
    // Logs no data, then reverts.
    const failing = await place(node, 2, "0x5f5fa05f5ffd");
    const hash = await sendPaid(await place(node, 1, BYTECODE.forwarder), wordOf(failing));
    const { calls, ...top } = await trace(hash, { withLog: true });
    expect(calls).toEqual([expect.objectContaining({ error: "execution reverted" })]);
    expect(calls).not.toEqual([expect.objectContaining({ logs: expect.anything() })]);
    expect(await trace(hash, { onlyTopCall: true })).toEqual(top);
  });

  it("replays a block on the same state: after its earlier transactions and after patches", async () => {
    await allowEverything(node);
    const recorder = await place(node, 1, BYTECODE.recorder);
    await node.rpc("anvil_setBalance", addressOf(0), "0x9");
    const inner = signInner(0, { to: hexToBytes(recorder), data: new Uint8Array(), value: 9n });
    const [first, second] = [
      wrap(inner),
      signOrdinary(13, { to: hexToBytes(recorder), data: new Uint8Array() }),
    ];
    await node.sendAndMine(first, second);
    for (let i = 0; i < 3; i++) await node.devnet.mine();
    const all = await node.rpc<{ txHash: Hex; result: { gasUsed: Hex } }[]>(
      "debug_traceBlockByNumber",
      "0x1",
      {
        tracer: "callTracer",
      },
    );
    const receipts = await node.rpc<{ transactionHash: Hex; gasUsed: Hex; status: Hex }[]>(
      "eth_getBlockReceipts",
      "0x1",
    );
    expect(receipts.map(({ status }) => status)).toEqual(["0x1", "0x1", "0x1"]);
    expect(all.map(({ txHash, result }) => [txHash, result.gasUsed])).toEqual(
      receipts.map(({ transactionHash, gasUsed }) => [transactionHash, gasUsed]),
    );
  });

  it("of an unsent call takes the overrides of eth_call", async () => {
    const somewhere: Hex = `0x${"77".repeat(20)}`;
    const call = { from: addressOf(0), to: somewhere, value: "0x3" };
    const overrides = { [somewhere]: { code: BYTECODE.destroyer }, [addressOf(0)]: { balance: "0x3" } };
    expect(
      await node.rpc("debug_traceCall", call, "latest", { tracer: "callTracer", stateOverrides: overrides }),
    ).toMatchObject({ type: "CALL", calls: [{ type: "SELFDESTRUCT", to: addressOf(0), value: "0x3" }] });
    await expect(node.rpc("debug_traceCall", call, "latest", { tracer: "callTracer" })).rejects.toThrow(
      "insufficient funds",
    );
  });

  it("refuses other tracers, unknown transactions, and states that are not kept", async () => {
    const hash = await sendPaid(addressOf(1), new Uint8Array());
    await expect(node.rpc("debug_traceTransaction", hash)).rejects.toMatchObject({ code: -32602 });
    await expect(
      node.rpc("debug_traceTransaction", bytesToHex(wordOf(1n)), { tracer: "callTracer" }),
    ).rejects.toThrow("transaction not found");
    await expect(node.rpc("debug_traceBlockByNumber", "0x0", { tracer: "callTracer" })).rejects.toThrow(
      "missing state",
    );
  });
});
