import {
  assertReplayProtected,
  decodeInnerTx,
  encodeInnerTx,
  hashTransaction,
  isWrapper,
  ProtocolError,
  recoverSender,
} from "@gas-waiver/protocol";
import type { BlockTransaction } from "../../chain/client/nodeClient.js";
import type { NonceUse } from "../../chain/nonceUse.js";
import type { Logger } from "../../model/telemetry/log.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import { adoptWrappers, type LostWrapper } from "../../store/lanes/nonces/lostWrappers.js";
import type { Store } from "../../store/store.js";

/**
 * After a failover, the store may have lost its last commits, and the chain may show wrappers of this lane that the store
 * does not know. For an hour after the store has moved to another server, a transaction of the waiver to the marker that
 * decodes counts as a lost wrapper, not as a foreign use of the key. Storing it again gives the same InnerTx the same
 * answer when it is sent again (D18).
 * @returns the transactions that count as lost wrappers.
 */
export async function adoptIfLost(
  held: HeldLane,
  uses: readonly NonceUse[],
  { store, log }: { readonly store: Store; readonly log: Logger },
): Promise<readonly BlockTransaction[]> {
  const wrappers = uses.flatMap(({ transaction, by }) => {
    const lost = by === "sender" ? lostWrapperOf(transaction, store.newId()) : undefined;
    return lost ? [{ transaction, lost }] : [];
  });
  if (wrappers.length === 0 || !(await store.moves.hasMoved())) return [];
  const lost = wrappers.map((wrapper) => wrapper.lost);
  const ids = await adoptWrappers(store, held, lost);
  const nonces = lost.map(({ waiverNonce }) => String(waiverNonce));
  if (ids.length > 0)
    log.warn({ nonces, ids }, "the chain has wrappers that the store had lost; they are stored again");
  else
    log.info({ nonces }, "the chain has wrappers that the store does not know; their submissions have ended");
  return wrappers.map(({ transaction }) => transaction);
}

/** Reads the wrapper in a transaction of the waiver; undefined if the transaction is not a wrapper. */
function lostWrapperOf({ to, input, nonce, hash }: BlockTransaction, id: string): LostWrapper | undefined {
  if (!isWrapper({ to })) return undefined;
  try {
    const inner = decodeInnerTx(input);
    assertReplayProtected(inner);
    if (inner.to === undefined) return undefined;
    return {
      waiverNonce: nonce,
      wrapperHash: hash,
      id,
      innerHash: hashTransaction(inner),
      innerRaw: encodeInnerTx(inner),
      sender: recoverSender(inner),
      senderNonce: inner.nonce,
      target: inner.to,
      selector: inner.data.length >= 4 ? inner.data.subarray(0, 4) : undefined,
    };
  } catch (error) {
    if (error instanceof ProtocolError) return undefined;
    throw error;
  }
}
