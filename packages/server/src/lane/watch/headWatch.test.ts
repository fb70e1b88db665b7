import { bytesToHex, hexToBytes } from "@gas-waiver/protocol";
import { expect, it } from "vitest";
import { createHeldLane, createSubmission, newSubmissionOf } from "../../../test/support/submissions.js";
import { silent } from "../../../test/support/testPostgres.js";
import { useTestStore } from "../../../test/support/testStore.js";
import { innerOf } from "../../../test/support/user.js";
import { RpcUnavailableError } from "../../chain/rpc/rpc.js";
import type { Store } from "../../store/store.js";
import type { WatchContext } from "../context.js";
import { Entries } from "../law/entries.js";
import { createStrikes, createStruckTurn } from "../law/strikes.js";
import { HeadOfLine } from "../send/head.js";
import { createHeadWatch } from "./headWatch.js";

let store: Store;
useTestStore("emptied", async (opened) => {
  store = opened;
});

/** The gas of the wrapper. */
const GAS = 500_000n;

/**
 * Polls once a block, each two seconds, while a wrapper of the sender's nonce 1 is next, and stops at the poll that queues its
 * submission. @param roomOf the room of the block at a height. Without it, nodes do not tell their latest block.
 */
async function pollsUntilQueued(senderNonce: bigint, roomOf?: (height: number) => bigint) {
  const lane = await createHeldLane(store);
  const submission = newSubmissionOf(1, 1);
  await createSubmission("broadcast", store, lane, submission);
  const wrapperRaw = hexToBytes(innerOf(1, 0, { gasLimit: GAS }));
  await store.pool.query("update unfinished set wrapper_raw = $1", [wrapperRaw]);
  const { sender } = submission;
  let polls = 1;
  const headOfLine = new HeadOfLine(() => 2_000 * polls);
  const head = async () => {
    if (roomOf === undefined) throw new RpcUnavailableError("no answer", "unknown");
    return { room: roomOf(polls) };
  };
  const strikes = createStrikes();
  const chain = { nonces: async () => [senderNonce], head };
  const headWatch = createHeadWatch(contextOf({ chain, strikes, headOfLine }));
  for (; polls < 30; polls++) {
    await headWatch.run(lane, { block: BigInt(polls), waiverNonce: 0n, signs: true });
    headOfLine.takeLoss();
    const { rows } = await store.pool.query<{ state: string }>("select state from unfinished");
    if (rows[0]?.state === "queued") return { polls, isStruck: strikes.isStruck({ sender, keyId: "" }) };
  }
  return undefined;
}

function contextOf(parts: object): WatchContext {
  const context = {
    ...{
      store,
      strikes: createStrikes(),
      struckTurn: createStruckTurn(),
      log: silent,
      options: { maxInFlight: 10 },
    },
    entries: new Entries(),
    broadcastBuffer: { unstored: () => new Set() },
    routing: { whyUnusable: () => undefined },
    ...parts,
  };
  return context as unknown as WatchContext;
}

it("a late head that two polls show as dead is withdrawn, and strikes its sender", async () => {
  expect(await pollsUntilQueued(2n)).toEqual({ polls: 3, isStruck: true });
});

it("all that two polls show as dead is withdrawn at once, also far behind the head", async () => {
  const lane = await createHeldLane(store);
  const line = Array.from({ length: 60 }, (_, i) => newSubmissionOf(i + 1));
  for (const [i, one] of line.entries()) await createSubmission("broadcast", store, lane, one, BigInt(i));
  await store.pool.query("update unfinished set wrapper_raw = $1", [hexToBytes(innerOf(1))]);
  const dead = line.filter((_, i) => i % 20 === 0).map(({ sender }) => bytesToHex(sender));
  const chain = {
    nonces: async (addresses: readonly Uint8Array[]) =>
      addresses.map((address) => (dead.includes(bytesToHex(address)) ? 1n : 0n)),
    head: async () => ({ room: 30_000_000n }),
  };
  let polls = 1;
  const headOfLine = new HeadOfLine(() => 2_000 * polls);
  const headWatch = createHeadWatch(contextOf({ chain, headOfLine }));
  for (; polls <= 3; polls++)
    await headWatch.run(lane, { block: BigInt(polls), waiverNonce: 0n, signs: true });
  const { rows } = await store.pool.query<{ sender: Buffer }>(
    "select sender from unfinished where state = 'queued'",
  );
  expect(rows.map(({ sender }) => bytesToHex(sender)).sort()).toEqual(dead.sort());
});

it("a late head behind a missing nonce of its sender is withdrawn as soon, and strikes nobody", async () => {
  expect(await pollsUntilQueued(0n)).toEqual({ polls: 3, isStruck: false });
});

it("a head that blocks leave out is withdrawn where nodes do not tell the room of their blocks", async () => {
  expect(await pollsUntilQueued(1n)).toMatchObject({ polls: 5 });
});

it("a large head is withdrawn some blocks after ten seconds in which blocks had room for others, and never at full blocks", async () => {
  expect(await pollsUntilQueued(1n, () => GAS / 2n)).toMatchObject({ polls: 10 });
  await store.pool.query("delete from unfinished; delete from lanes");
  expect(await pollsUntilQueued(1n, () => 20_000n)).toBeUndefined();
});

it("blocks that had to leave out a revoked waiver's wrapper are not counted once it is registered again", async () => {
  const lane = await createHeldLane(store);
  await createSubmission("broadcast", store, lane, newSubmissionOf(1));
  await store.pool.query("update unfinished set wrapper_raw = $1", [hexToBytes(innerOf(1))]);
  let polls = 1;
  const headOfLine = new HeadOfLine(() => 2_000 * polls);
  const routing = {
    whyUnusable: () => (polls < 20 ? "it is revoked" : undefined),
    hasOtherCarrier: () => false,
  };
  const chain = { nonces: async () => [0n], head: async () => ({ room: 30_000_000n }) };
  const headWatch = createHeadWatch(contextOf({ chain, routing, headOfLine }));
  for (; polls < 23; polls++) {
    await headWatch.run(lane, { block: BigInt(polls), waiverNonce: 0n, signs: true });
    headOfLine.takeLoss();
  }
  const { rows } = await store.pool.query("select state from unfinished");
  expect(rows).toEqual([{ state: "broadcast" }]);
});

it("a sender's later wrappers are withdrawn with its head that blocks leave out, for they cannot run before it", async () => {
  const lane = await createHeldLane(store);
  for (const nonce of [0, 1])
    await createSubmission("broadcast", store, lane, newSubmissionOf(1, nonce), BigInt(nonce));
  await createSubmission("broadcast", store, lane, newSubmissionOf(2), 2n);
  await store.pool.query("update unfinished set wrapper_raw = $1", [hexToBytes(innerOf(1))]);
  let polls = 1;
  const headOfLine = new HeadOfLine(() => 2_000 * polls);
  const chain = { nonces: async () => [0n, 0n], head: async () => ({ room: 30_000_000n }) };
  const headWatch = createHeadWatch(contextOf({ chain, headOfLine }));
  for (; !headOfLine.isFree; polls++) {
    await headWatch.run(lane, { block: BigInt(polls), waiverNonce: 0n, signs: true });
    headOfLine.takeLoss();
  }
  const { rows } = await store.pool.query("select waiver_nonce from unfinished where state = 'broadcast'");
  expect(rows).toEqual([{ waiver_nonce: "2" }]);
});
