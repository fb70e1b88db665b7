import { hexToBytes } from "@gas-waiver/protocol";
import { expect, it } from "vitest";
import { createHeldLane, createSubmission, newSubmissionOf } from "../../../test/support/submissions.js";
import { silent } from "../../../test/support/testPostgres.js";
import { useTestStore } from "../../../test/support/testStore.js";
import { innerOf } from "../../../test/support/user.js";
import { RpcUnavailableError } from "../../chain/rpc/rpc.js";
import type { Store } from "../../store/store.js";
import type { WatchContext } from "../context.js";
import { createFirstSeen } from "../law/firstSeen.js";
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
  const context = {
    store,
    chain: { nonces: async () => [senderNonce], head },
    ...{ strikes, struckTurn: createStruckTurn(), headOfLine, log: silent, options: { maxInFlight: 10 } },
    firstSeen: createFirstSeen(),
    broadcastBuffer: { unstored: () => new Set() },
    routing: { whyUnusable: () => undefined },
  };
  const headWatch = createHeadWatch(context as unknown as WatchContext);
  for (; polls < 30; polls++) {
    await headWatch.run(lane, { block: BigInt(polls), waiverNonce: 0n, signs: true });
    headOfLine.takeLoss();
    const { rows } = await store.pool.query<{ state: string }>("select state from unfinished");
    if (rows[0]?.state === "queued") return { polls, isStruck: strikes.isStruck({ sender, keyId: "" }) };
  }
  return undefined;
}

it("a late head that two polls show as dead is withdrawn, and strikes its sender", async () => {
  expect(await pollsUntilQueued(2n)).toEqual({ polls: 3, isStruck: true });
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
