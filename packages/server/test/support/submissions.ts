import { randomUUID } from "node:crypto";
import { decodeInnerTx, hashTransaction, hexToBytes, recoverSender } from "@gas-waiver/protocol";
import { v7 as uuidv7 } from "uuid";
import type { SubmissionState } from "../../src/model/submission/submission.js";
import { accept } from "../../src/store/accept/accept.js";
import type { NewSubmission } from "../../src/store/accept/newSubmission.js";
import { adoptChain } from "../../src/store/chains.js";
import type { ChangedSubmission, HeldLane } from "../../src/store/lanes/heldLane.js";
import { registerLanes } from "../../src/store/lanes/lease.js";
import type { Store } from "../../src/store/store.js";
import { putOffQueued } from "../../src/store/transitions/putOffQueued.js";
import { saveBroadcast } from "../../src/store/transitions/saveBroadcast.js";
import { saveFailed } from "../../src/store/transitions/saveFailed.js";
import { saveIncluded } from "../../src/store/transitions/saveIncluded.js";
import { saveReorged } from "../../src/store/transitions/saveReorged.js";
import { saveRequeued } from "../../src/store/transitions/saveRequeued.js";
import { saveSigned } from "../../src/store/transitions/saveSigned.js";
import { CHAIN_ID } from "./modelChain.js";
import { takeLease } from "./takeLease.js";
import { type Changes, innerOf, WAIVER } from "./user.js";

// Puts submissions directly into a store, in the state that a test needs.

export const bytes = (length: number, fill: number) => new Uint8Array(length).fill(fill);

/** Adopts a chain, registers a lane on it, and takes its lease for an hour. */
export async function createHeldLane(store: Store): Promise<HeldLane> {
  const chain = await adoptChain(store, { chainId: CHAIN_ID, genesisHash: bytes(32, 1) });
  const waiver = hexToBytes(WAIVER);
  await registerLanes(store, chain, [waiver]);
  const lease = await takeLease(store, { chain, waiver, owner: randomUUID() }, 3_600_000);
  if (lease === undefined) throw new Error("another owner holds the lane");
  return lease.lane;
}

/** The new submission of a user's transfer. */
export function newSubmissionOf(user: number, nonce = 0, changes: Changes = {}): NewSubmission {
  const tx = decodeInnerTx(hexToBytes(innerOf(user, nonce, changes)));
  return {
    id: uuidv7(),
    keyId: "key",
    innerHash: hashTransaction(tx),
    innerRaw: tx.raw,
    sender: recoverSender(tx),
    senderNonce: tx.nonce,
    target: tx.to ?? bytes(20, 0),
    selector: tx.data.subarray(0, 4),
    waiver: hexToBytes(WAIVER),
    gasLimit: tx.gasLimit,
  };
}

type Transition = (store: Store, lane: HeldLane, id: string, waiverNonce?: bigint) => Promise<string[]>;

const idsOf = async (moved: Promise<readonly ChangedSubmission[]>) => (await moved).map(({ id }) => id);

/** Gives submissions a pause, as those that are ahead of their turn get it. */
export async function postpone(
  store: Store,
  lane: HeldLane,
  ids: readonly string[],
  afterMs: number,
): Promise<void> {
  const { rows } = await store.pool.query<{ sender: Buffer; nonce: string }>(
    "select sender, sender_nonce as nonce from submissions where id = any($1::uuid[])",
    [ids],
  );
  const alone = rows.map(({ sender, nonce }) => ({ sender, senderNonce: BigInt(nonce) }));
  await putOffQueued(store, lane, [], { afterMs, isAhead: true, alone });
}

/** Returns the number of wrappers that were signed for an unfinished submission. */
export async function signingsOf({ pool }: Store, id: string): Promise<number> {
  const { rows } = await pool.query<{ signings: number }>("select signings from unfinished where id = $1", [
    id,
  ]);
  return rows[0]?.signings ?? 0;
}

/** Every transition that a lane can make, keyed by the state that it leads to. */
export const TRANSITION_TO: Readonly<Record<SubmissionState, Transition>> = {
  queued: (store, lane, id) => idsOf(saveRequeued(store, lane, [id], { afterMs: 0, isOpen: true })),
  signed: async (store, lane, id, waiverNonce = 0n) => {
    const wrapper = { waiverNonce, wrapperHash: bytes(32, 2), wrapperRaw: bytes(200, 3) };
    const signings = (await signingsOf(store, id)) + 1;
    const signed = await saveSigned(store, lane, [{ id, signings, ...wrapper }]);
    return signed.map((one) => one.id);
  },
  // The node's answer leads here from `signed`, a reorg from `included`.
  broadcast: async (store, lane, id) => [
    ...(await idsOf(saveBroadcast(store, lane, [{ id, wrapperHash: bytes(32, 2) }]))),
    ...(await idsOf(saveReorged(store, lane, [id]))),
  ],
  included: (store, lane, id) =>
    idsOf(
      saveIncluded(
        store,
        lane,
        [
          {
            id,
            blockNumber: 5n,
            blockHash: bytes(32, 4),
            gasUsed: 50_000n,
            reverted: false,
            carriedBy: "own",
          },
        ],
        false,
      ),
    ),
  failed: (store, lane, id) =>
    idsOf(saveFailed(store, lane, [{ id, reason: "NODE_REFUSED", message: "no", condition: "always" }])),
};

/** The states on the path from `queued` to each state. */
const PATH_TO: Readonly<Record<SubmissionState, readonly SubmissionState[]>> = {
  queued: [],
  signed: ["signed"],
  broadcast: ["signed", "broadcast"],
  included: ["signed", "broadcast", "included"],
  failed: ["failed"],
};

/** Accepts a new submission, and brings it into a state. @returns its id. */
export async function createSubmission(
  state: SubmissionState,
  store: Store,
  lane: HeldLane,
  newSubmission: NewSubmission,
  waiverNonce = 0n,
): Promise<string> {
  await accept(store, { chain: lane.chain, origin: lane.owner }, [newSubmission]);
  for (const step of PATH_TO[state]) await TRANSITION_TO[step](store, lane, newSubmission.id, waiverNonce);
  return newSubmission.id;
}
