import { bytesToHex } from "@gas-waiver/protocol";
import type { Placed } from "./placement.js";

/**
 * Keeps the nonces of submissions that a custody has begun to sign, so that no signature is wasted. The other submissions
 * get the remaining nonces in their order. No later nonce of a sender comes before an earlier one.
 * @param placed the submissions in the order of their waiver nonces, those of each sender in the order of their nonces.
 * @param begun the waiver nonces by the ids of the submissions.
 * @returns in the order of the waiver nonces; `placed` itself where the order of a sender allows nothing else.
 */
export function keepBegun(placed: readonly Placed[], begun: ReadonlyMap<string, bigint>): readonly Placed[] {
  if (begun.size === 0) return placed;
  const nonces = new Set(placed.map(({ waiverNonce }) => waiverNonce));
  const kept = new Map<bigint, Placed>();
  const movable: Placed[] = [];
  const bySender = new Map<string, Placed[]>();
  for (const one of placed) {
    const waiverNonce = begun.get(one.submission.id);
    if (waiverNonce !== undefined && nonces.has(waiverNonce)) kept.set(waiverNonce, one);
    else movable.push(one);
    const sender = bytesToHex(one.submission.sender);
    bySender.set(sender, [...(bySender.get(sender) ?? []), one]);
  }
  const rowOf = ({ submission }: Placed) => bySender.get(bytesToHex(submission.sender)) ?? [];
  const isNextOfSender = (one: Placed) => rowOf(one)[0] === one;
  const arranged: Placed[] = [];
  for (const { waiverNonce } of placed) {
    const chosen = kept.get(waiverNonce) ?? movable.find(isNextOfSender);
    if (chosen === undefined || !isNextOfSender(chosen)) return placed;
    rowOf(chosen).shift();
    const index = movable.indexOf(chosen);
    if (index >= 0) movable.splice(index, 1);
    arranged.push({ ...chosen, waiverNonce });
  }
  return arranged;
}
