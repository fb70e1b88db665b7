import { bytesToHex } from "@gas-waiver/protocol";
import { describe, expect, it } from "vitest";
import { bytes } from "../../../test/support/submissions.js";
import type { InFlightSubmission } from "../../store/lanes/queue/unfinished.js";
import { createSenderGaps } from "./senderNonces.js";

/** A sender's transaction in flight; the waiver's nonce is the sender's plus ten. */
function inFlight(
  user: number,
  senderNonce: bigint,
  state: "signed" | "broadcast" = "signed",
): InFlightSubmission {
  const sender = bytes(20, user);
  const id = `${user} ${senderNonce}`;
  return { id, state, sender, senderNonce, waiverNonce: senderNonce + 10n } as InFlightSubmission;
}

/** The gaps over a chain on which some senders have used nonces. */
function gapsOver(used: Readonly<Record<number, bigint>> = {}) {
  const next = new Map(
    Object.entries(used).map(([user, nonce]) => [bytesToHex(bytes(20, Number(user))), nonce]),
  );
  const nonces = async (addresses: readonly Uint8Array[]) =>
    addresses.map((address) => next.get(bytesToHex(address)) ?? 0n);
  return createSenderGaps({ nonces });
}

describe("a wrapper that a node has", () => {
  it("cannot run while no node took an earlier nonce of its sender, in whichever exchange", async () => {
    const gaps = gapsOver();
    gaps.note(inFlight(1, 0n));
    expect(await gaps.findBlocked([inFlight(1, 1n), inFlight(2, 1n)])).toEqual(new Set(["1 1"]));
    expect(await gaps.findBlocked([inFlight(1, 2n)])).toEqual(new Set(["1 2"]));
  });

  it("can run once the earlier nonce is taken, or used", async () => {
    const taken = gapsOver();
    taken.note(inFlight(1, 0n));
    expect(await taken.findBlocked([inFlight(1, 0n), inFlight(1, 1n)])).toEqual(new Set());
    const used = gapsOver({ 1: 1n });
    used.note(inFlight(1, 0n));
    expect(await used.findBlocked([inFlight(1, 1n)])).toEqual(new Set());
  });

  it("stays a success if it was one before", async () => {
    const gaps = gapsOver();
    gaps.note(inFlight(1, 0n));
    expect(await gaps.findBlocked([inFlight(1, 1n, "broadcast")])).toEqual(new Set());
  });

  it("cannot run after a takeover either, if nothing in front carries the sender's nonce", async () => {
    const gaps = gapsOver();
    await gaps.rebuild([inFlight(1, 1n), inFlight(2, 0n), inFlight(2, 1n)]);
    expect(await gaps.findBlocked([inFlight(1, 1n), inFlight(2, 0n), inFlight(2, 1n)])).toEqual(
      new Set(["1 1"]),
    );
  });
});
