// Wrappers that may still land are closed as soon as the chain shows that they cannot.
import {
  decodeInnerTx,
  decodeTransaction,
  type Hex,
  hexToBytes,
  signWrapperTxWithKey,
} from "@gas-waiver/protocol";
import { describe, expect, it, vi } from "vitest";
import type { NodeClient } from "../../src/chain/client/nodeClient.js";
import type { NonceProofs } from "../../src/chain/nonceProof.js";
import type { NonceUse } from "../../src/chain/nonceUse.js";
import type { WatchContext } from "../../src/lane/context.js";
import { Entries } from "../../src/lane/law/entries.js";
import { createDoubts } from "../../src/lane/watch/doubts.js";
import type { HeldLane } from "../../src/store/lanes/heldLane.js";
import type { Store } from "../../src/store/store.js";
import { saveRequeued } from "../../src/store/transitions/saveRequeued.js";
import { setLaneState, untilOwned } from "../support/laneStates.js";
import { bytes, createHeldLane, createSubmission, newSubmissionOf } from "../support/submissions.js";
import { silent } from "../support/testPostgres.js";
import { outcomeOf, testServices } from "../support/testService.js";
import { useTestStore } from "../support/testStore.js";
import { accountsOf, innerOf, SECOND_KEY, WAIVER, WAIVER_KEY } from "../support/user.js";

describe("the search for what became of open wrappers", () => {
  let store: Store;
  let lane: HeldLane;
  let nowMs: number;
  let chain: Partial<NodeClient>;
  useTestStore("emptied", async (opened) => {
    store = opened;
    lane = await createHeldLane(store);
    nowMs = 0;
  });

  const useOf = (nonce: bigint): NonceUse => {
    const input = new Uint8Array();
    const transaction = { hash: bytes(32, 77), from: lane.waiver, nonce, to: undefined, input };
    const block = { blockNumber: 3n, blockHash: bytes(32, 3), blockTransactions: [] };
    return { transaction, nonce, by: "sender", ...block };
  };
  const doubtsWith = (find: NonceProofs["find"]) => {
    const nonceProofs = { find, unproven: () => [], isSearching: false };
    const context = {
      ...{ store, chain, log: silent, nonceProofs, options: { reorgDepth: 0 } },
      entries: new Entries(() => nowMs),
      results: { publish: () => {} },
    } as unknown as WatchContext;
    const { questions } = createDoubts(context, () => {});
    return {
      /** @returns the time until there is more to ask. */
      async look(): Promise<number> {
        const rests: (number | undefined)[] = [];
        for (const question of questions) rests.push(await question(lane));
        return Math.min(...rests.map((restMs) => restMs ?? Number.POSITIVE_INFINITY));
      },
    };
  };
  const query = async (sql: string) => (await store.pool.query(sql)).rows;
  /** Queues a submission with an open wrapper, in a pause that no step ends. */
  const setAside = async (user: number, waiverNonce: bigint) => {
    const id = await createSubmission("signed", store, lane, newSubmissionOf(user), waiverNonce);
    await saveRequeued(store, lane, [id], { afterMs: 600_000, isOpen: true });
    return id;
  };

  it("closes a dead wrapper although two pages with lower nonces have no proof, and asks for those ever more rarely", async () => {
    await setAside(1, 220n);
    await query(`insert into withdrawn (chain, waiver, waiver_nonce, wrapper_hash, open_for)
      select w.chain, w.waiver, n, decode(lpad(to_hex(n), 64, '0'), 'hex'), w.open_for
      from withdrawn w, generate_series(0, 219) n`);
    let asked = 0;
    chain = {
      nonces: async () => {
        asked++;
        return [400n];
      },
      snapshot: async (_, hashes) => {
        asked++;
        return { nonces: [400n, 0n], receipts: hashes.map(() => undefined), nonceAfter: 400n };
      },
    };
    const doubts = doubtsWith(async ({ nonce }) => (nonce < 220n ? undefined : useOf(nonce)));
    const openAfter = async () => {
      nowMs += await doubts.look();
      return (await query("select from withdrawn where open_for is not null")).length;
    };
    const open = [await openAfter(), await openAfter()];
    expect(open).toContain(220);
    asked = 0;
    while (nowMs < 60_000) await openAfter();
    expect(asked).toBeLessThan(5 * 50);
  });

  it("includes a submission whose earlier wrapper has landed, long before its pause is over", async () => {
    const id = await setAside(1, 4n);
    const receipt = { blockNumber: 7n, blockHash: bytes(32, 7), gasUsed: 1n, succeeded: true };
    chain = {
      nonces: async () => [5n],
      blocks: async () => [],
      snapshot: async () => ({ nonces: [5n, 1n], receipts: [receipt], nonceAfter: 5n }),
    };
    await doubtsWith(async () => undefined).look();
    expect(await query(`select id, state from submissions`)).toEqual([{ id, state: "included" }]);
  });

  it("asks no node where no submission waits for an open wrapper", async () => {
    const nonces = vi.fn(async () => [100n]);
    chain = { nonces };
    await query(`insert into withdrawn (chain, waiver, waiver_nonce, wrapper_hash, open_for)
      select chain, waiver, 1, '\\x02', gen_random_uuid() from lanes`);
    await doubtsWith(async () => undefined).look();
    expect(nonces).not.toHaveBeenCalled();
  });
});

describe("a wrapper that no node takes", () => {
  const services = testServices({ patience: { speed: 10 } });
  const POISON = innerOf(1);
  const carries = (raw: Hex, inner: Hex) => raw.includes(inner.slice(2));

  it("whose request a proxy refuses, in one request with thirty good ones, does not keep them from the chain", async () => {
    const service = await services.start();
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
  });

  it("while the node takes no other either, runs once with them as soon as it does", async () => {
    const service = await services.start();
    service.node.onSends({ kind: "error", of: () => ({ code: -32000, message: "computer says no" }) });
    const lines = service.submit(Array.from({ length: 30 }, (_, i) => innerOf(10 + i)));
    await service.node.until(({ sent }) => sent.length >= 120);
    service.node.script = undefined;
    expect((await lines).map(outcomeOf)).toEqual(Array(30).fill("success"));
    await service.node.until(({ chain }) => chain.executed.length === 30);
  });

  it("of a stopped lane is closed when the chain shows that another transaction used its nonce", async () => {
    const service = await services.start({ leaseMs: 300, requestTimeoutMs: 400 }, { automine: false });
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
  });
});
