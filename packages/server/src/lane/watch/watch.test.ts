import { expect, it } from "vitest";
import { createHeldLane, createSubmission, newSubmissionOf } from "../../../test/support/submissions.js";
import { useTestStore } from "../../../test/support/testStore.js";
import type { InFlightSubmission } from "../../store/lanes/nonces/inFlight.js";
import type { Store } from "../../store/store.js";
import type { WatchContext } from "../context.js";
import type { Broadcaster } from "../send/broadcaster.js";
import { settleOverdue } from "./watch.js";

let store: Store;
useTestStore("shared", async (opened) => {
  store = opened;
});

it("what blocks leave out goes to the other nodes as well: the first may lose what it takes", async () => {
  const lane = await createHeldLane(store);
  await createSubmission("broadcast", store, lane, newSubmissionOf(1));
  const sent: [to: string, nonces: bigint[]][] = [];
  const to = (node: string) => async (some: readonly Pick<InFlightSubmission, "waiverNonce">[]) => {
    sent.push([node, some.map(({ waiverNonce }) => waiverNonce)]);
  };
  let isLate = false;
  const context = {
    ...{ store, options: { resendAfterMs: 60_000 }, headOfLine: { takeLoss: () => isLate } },
    broadcastBuffer: { flush: async () => {} },
    chain: { nonces: async () => [0n], sendToOthers: to("others") },
  } as unknown as WatchContext;
  const send = to("first");
  const broadcaster = { send: (_, some) => send(some) } as Pick<Broadcaster, "send"> as Broadcaster;
  const settle = () => settleOverdue(lane, 0n, "signs", context, broadcaster);
  await settle();
  expect(sent).toEqual([]);
  isLate = true;
  await settle();
  expect(sent).toEqual([
    ["others", [0n]],
    ["first", [0n]],
  ]);
});
