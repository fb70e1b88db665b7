// Wrappers that may still land are closed as soon as the chain shows that they cannot.
import "../support/fastConfirmations.js";
import {
  decodeInnerTx,
  decodeTransaction,
  type Hex,
  hexToBytes,
  signWrapperTxWithKey,
} from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { closeDeadWrappers } from "../../src/lane/sweep.js";
import type { HeldLane } from "../../src/store/lanes/heldLane.js";
import type { Store } from "../../src/store/store.js";
import { setLaneState, untilOwned } from "../support/laneStates.js";
import { bytes, createHeldLane } from "../support/submissions.js";
import { outcomeOf, testServices } from "../support/testService.js";
import { useTestStore } from "../support/testStore.js";
import { accountsOf, innerOf, SECOND_KEY, WAIVER, WAIVER_KEY } from "../support/user.js";

describe("the sweep of withdrawn wrappers", () => {
  let store: Store;
  let lane: HeldLane;
  useTestStore("perTest", async (opened) => {
    store = opened;
    lane = await createHeldLane(store);
  });

  it("closes a dead wrapper although fifty with lower nonces have no proof", async () => {
    await store.pool.query(
      `insert into withdrawn (chain, waiver, waiver_nonce, wrapper_hash, open_for)
       select $1, $2, n, decode(lpad(to_hex(n), 64, '0'), 'hex'), gen_random_uuid() from generate_series(0, 50) n`,
      [lane.chain, lane.waiver],
    );
    const nonceProofs = {
      find: async ({ nonce }: { nonce: bigint }) =>
        nonce < 50n
          ? undefined
          : {
              transaction: {
                hash: bytes(32, 77),
                from: lane.waiver,
                nonce,
                to: undefined,
                input: bytes(0, 0),
              },
              nonce,
              by: "sender" as const,
              blockNumber: 3n,
              blockHash: bytes(32, 3),
              blockTransactions: [],
            },
    };
    for (let sweeps = 0; sweeps < 5; sweeps++) await closeDeadWrappers(lane, 100n, { store, nonceProofs });
    const { rows } = await store.pool.query(
      "select count(*)::int as open from withdrawn where open_for is not null",
    );
    expect(rows).toEqual([{ open: 50 }]);
  });
});

describe("a wrapper that no node takes", () => {
  const services = testServices();
  const POISON = innerOf(1);
  const carries = (raw: Hex, inner: Hex) => raw.includes(inner.slice(2));

  it("whose request a proxy refuses, in one request with thirty good ones, does not keep them from the chain", async () => {
    const service = await services.start({ requestTimeoutMs: 15_000 });
    service.node.script = ({ raws }) =>
      raws.some((raw) => carries(raw, POISON))
        ? { kind: "answer", status: 403, body: "forbidden" }
        : undefined;
    const good = Array.from({ length: 30 }, (_, i) => innerOf(10 + i));
    let successes = 0;
    for await (const line of service.stream([...good.slice(0, 15), POISON, ...good.slice(15)])) {
      if (outcomeOf(line) === "success") successes++;
      if (successes === good.length) break;
    }
    expect(successes).toBe(good.length);
  }, 40_000);

  it("while the node takes no other either, runs once with them as soon as it does", async () => {
    const service = await services.start({ requestTimeoutMs: 30_000 });
    service.node.onSends({ kind: "error", of: () => ({ code: -32000, message: "computer says no" }) });
    const lines = service.submit(Array.from({ length: 30 }, (_, i) => innerOf(10 + i)));
    await service.node.until(({ sent }) => sent.length >= 120);
    service.node.script = undefined;
    expect((await lines).map(outcomeOf)).toEqual(Array(30).fill("success"));
    await service.node.until(({ chain }) => chain.executed.length === 30);
  }, 40_000);

  it("of a stopped lane is closed when the chain shows that another transaction used its nonce", async () => {
    const service = await services.start(
      { leaseMs: 300, requestTimeoutMs: 400, sweepIntervalMs: 200 },
      { automine: false },
    );
    await untilOwned(service, [WAIVER]);
    service.node.onSends({
      kind: "error",
      of: (raw) => (carries(raw, POISON) ? { code: -32000, message: "computer says no" } : undefined),
    });
    await service.submit([POISON]);
    await service.until("select from withdrawn where open_for is not null");
    await setLaneState(service, WAIVER, "stopped");
    // Another program's wrapper uses the nonce.
    const inner = decodeInnerTx(hexToBytes(innerOf(500)));
    const { raw } = signWrapperTxWithKey(inner, WAIVER_KEY, { nonce: 0n, verificationGas: 50_000n });
    expect(decodeTransaction(raw).nonce).toBe(0n);
    service.node.chain.addToPool(raw);
    service.node.mine();
    await service.server.setWaivers(accountsOf(WAIVER_KEY, SECOND_KEY));
    const sentBefore = service.node.sent.length;
    await service.node.until(({ sent }) => sent.length > sentBefore);
    await service.until(
      "select from withdrawn having count(*) filter (where waiver = $1 and open_for is not null) = 0",
      [hexToBytes(WAIVER)],
    );
  }, 40_000);
});
