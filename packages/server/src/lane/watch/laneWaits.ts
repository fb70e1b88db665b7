import { NodeRpcError, RpcUnavailableError } from "../../chain/rpc/rpc.js";
import type { LaneWait } from "../../model/submission/waitCauses.js";
import { CustodyError } from "../../signing/custodyCalls.js";
import { isRefusedStatement } from "../../store/database/driverTrouble.js";
import { isVague, troubleOf } from "../../store/database/storeTrouble.js";
import type { HeldLane } from "../../store/lanes/heldLane.js";
import { saveLaneWait } from "../../store/lanes/setLaneState.js";
import type { LaneContext } from "../context.js";
import { NotBroadcastError } from "../send/applyAnswers.js";

export type LaneWaits = ReturnType<typeof createLaneWaits>;

/**
 * A wait that is longer is told, and a sentence that changes after this time again, in ms. All replicas see a wait within ten
 * seconds of its begin.
 */
const TELL_MS = 5_000;

/** Tells everybody what a lane waits for, once it has waited for some seconds. @param now a monotonic clock in ms. */
export function createLaneWaits(
  { store, log }: Pick<LaneContext, "store" | "log">,
  now: () => number = () => performance.now(),
) {
  let current: (LaneWait & { readonly since: number }) | undefined;
  let told: (LaneWait & { readonly at: number }) | undefined;
  /** The owner before may have told something that is over. */
  let clearedIn: bigint | undefined;
  const clear = async (held: HeldLane) => {
    if (told === undefined && clearedIn === held.epoch) return;
    await saveLaneWait(store, held, undefined, 0);
    if (told) log.info({ cause: told.cause }, "the lane does not wait any more");
    told = undefined;
    clearedIn = held.epoch;
  };
  const tell = async (held: HeldLane, wait: LaneWait & { readonly since: number }) => {
    const isSame = told?.cause === wait.cause;
    if (isSame && (told?.sentence === wait.sentence || now() - (told?.at ?? 0) < TELL_MS)) return;
    await saveLaneWait(store, held, wait, now() - wait.since);
    if (!isSame) log.warn({ cause: wait.cause, sentence: wait.sentence }, "the lane waits");
    told = { ...wait, at: now() };
  };
  return {
    /**
     * Notes what the lane waits for after a step; undefined if the lane goes on.
     * @throws LeaseLostError
     */
    async note(held: HeldLane, wait: LaneWait | undefined): Promise<void> {
      current = wait && { ...wait, since: current?.since ?? now() };
      if (current === undefined) return await clear(held);
      if (current.cause === "jam" || now() - current.since >= TELL_MS) await tell(held, current);
    },
  };
}

/**
 * Names the wait of a lane one of whose loops has failed; undefined if the store answers nothing, which its own monitor tells. A
 * store that refuses one thing may well take the lane's wait.
 */
export function waitAfter(error: unknown): LaneWait | undefined {
  if (!(error instanceof Error)) return undefined;
  const trouble = troubleOf(error);
  if (trouble) return isVague(trouble) ? undefined : { cause: "store", sentence: trouble.message };
  if (isRefusedStatement(error)) return { cause: "store", sentence: "the store refuses a statement" };
  if (error instanceof CustodyError) return { cause: "custody", sentence: error.message };
  const isByNodes = [NotBroadcastError, RpcUnavailableError, NodeRpcError].some(
    (kind) => error instanceof kind,
  );
  return isByNodes ? { cause: "nodes", sentence: error.message } : undefined;
}
