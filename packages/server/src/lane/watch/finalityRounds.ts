import { RpcUnavailableError } from "../../chain/rpc/rpc.js";
import type { Lease } from "../../store/lanes/lease.js";
import type { LaneDependencies } from "../context.js";
import { logFailure } from "../logFailure.js";
import { findDoubtedLanes } from "./lostBlocks.js";
import type { Look, Schedule } from "./schedule.js";
import type { LaneWatch } from "./watchLane.js";

/** A lane as the rounds see it. */
interface WatchedLane extends Pick<LaneWatch, "onFinality" | "searchLostWrappers"> {
  lease(): Lease | undefined;
}

interface FinalityDependencies extends Pick<LaneDependencies, "store" | "log"> {
  readonly chain: Pick<LaneDependencies["chain"], "nonces">;
  readonly options: Pick<LaneDependencies["options"], "pollIntervalMs">;
  readonly schedule: Pick<Schedule, "look">;
}

/** The intervals between two rounds. */
const INTERVALS_PER_ROUND = 15;
/** An answer of this age to the question whether the store has moved will do. */
const MOVE_CHECK_MS = 5_000;

/**
 * Compares now and then the final blocks of all lanes of this replica with the chain, whether a lane has work or not, and
 * has the lanes search for lost wrappers after the store has moved to another server. The log has when no node answers the
 * first time, and when one answers again, rather than each round between.
 */
export function startFinalityRounds(
  lanes: () => readonly WatchedLane[],
  { store, chain, options, log, schedule }: FinalityDependencies,
): Pick<Look, "end"> {
  let isUnanswered = false;
  const askedChain: FinalityDependencies["chain"] = {
    async nonces(addresses) {
      const nonces = await chain.nonces(addresses);
      // Nobody is asked for none.
      if (isUnanswered && addresses.length > 0) {
        isUnanswered = false;
        log.info("finality: a node answers again");
      }
      return nonces;
    },
  };
  const onFailure = (error: unknown) => {
    if (isUnanswered && error instanceof RpcUnavailableError) return;
    isUnanswered ||= error instanceof RpcUnavailableError;
    logFailure(log, error, "finality");
  };
  const round = async () => {
    const held = lanes().flatMap((lane) => {
      const lease = lane.lease();
      return lease && lease.state !== "stopped" ? [{ lane, key: lease.lane }] : [];
    });
    const keys = held.map(({ key }) => key);
    const doubted = await findDoubtedLanes(keys, { store, chain: askedChain });
    for (const { lane, key } of held) lane.onFinality(doubted.has(key) ? "doubted" : "kept");
    if (held.length > 0 && (await store.moves.hasMoved(MOVE_CHECK_MS)))
      for (const { lane } of held) lane.searchLostWrappers();
  };
  const roundMs = INTERVALS_PER_ROUND * options.pollIntervalMs;
  const lookAgain = () =>
    round().then(
      () => roundMs,
      (error: unknown) => {
        onFailure(error);
        return roundMs;
      },
    );
  return schedule.look(lookAgain, { afterMs: roundMs });
}
