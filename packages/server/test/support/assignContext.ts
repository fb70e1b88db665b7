import { randomUUID } from "node:crypto";
import type { LaneContext } from "../../src/lane/context.js";
import { createLaneMemory } from "../../src/lane/inbox/laneMemory.js";
import { LaneOffers } from "../../src/lane/inbox/laneOffers.js";
import { createRetries } from "../../src/lane/inbox/retries.js";
import { Entries } from "../../src/lane/law/entries.js";
import { createStrikes, createStruckTurn } from "../../src/lane/law/strikes.js";
import { HeadOfLine } from "../../src/lane/send/head.js";
import { createLaneParties } from "../../src/lane/sign/plan.js";
import { privateKeyWaiver } from "../../src/signing/privateKeyWaiver.js";
import { createSigner } from "../../src/signing/signer.js";
import type { Store } from "../../src/store/store.js";
import { silent } from "./testPostgres.js";
import { WAIVER_KEY } from "./user.js";

const OPTIONS = {
  verificationGas: 50_000n,
  innerEncoding: "envelope" as const,
  maxInFlight: 100,
  nonceGapTimeoutMs: 10_000,
  custodyRatePerSecond: 300,
  custodyTimeoutMs: 5_000,
};

/**
 * The context of an assignment on a chain where no account has sent anything yet, with policies that do not differ. No time passes
 * for what the lane remembers.
 * @param nonces answers for the node.
 */
export function assignContext(
  store: Store,
  nonces = async (addresses: readonly Uint8Array[]) => addresses.map(() => 0n),
) {
  const signer = createSigner({ options: OPTIONS, log: silent, signal: new AbortController().signal });
  const laneMemory = createLaneMemory(() => 0);
  // A step of a test may take as long as it likes.
  const laneOffers = new LaneOffers(
    () => {},
    laneMemory.hasInFlight,
    () => 0,
    600_000,
  );
  const context = {
    store,
    chain: { nonces },
    options: OPTIONS,
    results: { publish() {} },
    routing: { policiesDiffer: () => false, whyUnusable: () => undefined },
    laneOffers,
    replica: randomUUID(),
    laneMemory,
    entries: new Entries(() => 0),
    retries: createRetries(() => 0),
    headOfLine: new HeadOfLine(() => 0),
    parties: createLaneParties(() => 0),
    strikes: createStrikes(() => 0),
    struckTurn: createStruckTurn(() => 0),
    onNoncesFreed: laneMemory.forget,
    nonceProofs: { usedBelow: () => 0n },
    laneSigner: signer.of(privateKeyWaiver(WAIVER_KEY)),
  } as unknown as LaneContext;
  return Object.assign(context, { laneOffers });
}
