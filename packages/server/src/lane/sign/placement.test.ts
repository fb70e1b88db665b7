import { expect, it } from "vitest";
import { bytes } from "../../../test/support/submissions.js";
import type { QueuedSubmission } from "../../store/lanes/queue/laneSnapshot.js";
import { assertSendersInOrder } from "./placement.js";

const placedAt = (waiverNonce: bigint, user: number, senderNonce: bigint) => ({
  submission: { sender: bytes(20, user), senderNonce } as QueuedSubmission,
  waiverNonce,
});

it("gives no waiver nonce to a sender's nonce behind a later one", () => {
  const inOrder = [placedAt(7n, 1, 3n), placedAt(8n, 2, 0n), placedAt(9n, 1, 4n)];
  expect(() => assertSendersInOrder(inOrder)).not.toThrow();
  expect(() => assertSendersInOrder([...inOrder, placedAt(10n, 1, 2n)])).toThrow(
    /the nonce 2 of 0x01.* would come after its nonce 4, at the waiver nonce 10/,
  );
});
