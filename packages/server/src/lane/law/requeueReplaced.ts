import { bytesEqual } from "@gas-waiver/protocol";
import type { NonceUse } from "../../chain/nonceUse.js";
import { countForeignUse } from "../../store/lanes/countForeignUse.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import { findWithdrawnWrappers } from "../../store/lanes/nonces/withdrawnWrappers.js";
import { stopWorkingLane } from "../../store/lanes/setLaneState.js";
import { saveRequeued } from "../../store/transitions/saveRequeued.js";
import type { WatchContext } from "../context.js";
import { adoptIfLost } from "./adoptLost.js";

/** A submission whose wrapper is dead: a final block shows another transaction under its nonce. */
export interface Replaced {
  readonly id: string;
  readonly waiverNonce: bigint;
  /** The dead wrapper's hash. */
  readonly wrapperHash: Uint8Array;
  readonly usedBy: NonceUse;
}

type ReplacedContext = Pick<WatchContext, "store" | "log" | "onLaneStopped" | "onNoncesFreed">;

/** The lane stops when something else has used its key this many times. */
const MAX_FOREIGN_USES = 2;
/** The pause of a replaced submission, in ms: a lane that is stopped because of it notices that before. */
const REPLACED_DELAY_MS = 1_500;

/** Queues replaced submissions for other nonces, and finds out whose transactions used the old nonces. */
export async function requeueReplaced(
  held: HeldLane,
  replaced: readonly Replaced[],
  context: ReplacedContext,
): Promise<void> {
  if (replaced.length === 0) return;
  const { store, log } = context;
  const nonces = replaced.map(({ waiverNonce }) => waiverNonce);
  const withdrawn = await findWithdrawnWrappers(store, held, nonces);
  const isOurs = ({ usedBy }: Replaced) =>
    withdrawn.some(({ wrapperHash }) => bytesEqual(wrapperHash, usedBy.transaction.hash));
  const ids = replaced.map(({ id }) => id);
  const requeued = await saveRequeued(store, held, ids, {
    afterMs: REPLACED_DELAY_MS,
    isOpen: false,
    wrapperHashes: replaced.map(({ wrapperHash }) => wrapperHash),
  });
  if (requeued.length === 0) return;
  context.onNoncesFreed?.();
  const landed = replaced.filter(isOurs).map(({ waiverNonce }) => String(waiverNonce));
  if (landed.length > 0)
    log.warn({ nonces: landed }, "withdrawn wrappers landed after all, under their nonces");
  const unknown = replaced.filter((one) => !isOurs(one));
  const lost = await adoptIfLost(
    held,
    unknown.map(({ usedBy }) => usedBy),
    context,
  );
  const foreign = unknown
    .filter(({ usedBy }) => !lost.includes(usedBy.transaction))
    .map(({ waiverNonce }) => waiverNonce);
  if (foreign.length > 0) await countForeign(held, foreign, context);
}

/** Counts and reports the nonces that something else has used, and stops the lane at the limit. */
async function countForeign(
  held: HeldLane,
  used: readonly bigint[],
  { store, log, onLaneStopped }: ReplacedContext,
): Promise<void> {
  const nonces = used.map(String);
  const foreignUses = await countForeignUse(store, held);
  log.error({ nonces, foreignUses }, "the chain used the waiver's nonces for transactions that are not ours");
  if (foreignUses < MAX_FOREIGN_USES) return;
  const reason = `something else sends with this waiver's key: its nonces ${nonces.join(", ")} were used by other transactions`;
  if (!(await stopWorkingLane(store, held, reason))) return;
  onLaneStopped();
  log.fatal({ reason }, "the lane stops; open it again when nothing else holds the key");
}
