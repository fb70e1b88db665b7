import { decodeInnerTx, type ErrorValues } from "@gas-waiver/protocol";
import { type ReplayedFailure, replay } from "../chain/client/replay.js";
import type { Rpc } from "../chain/rpc/rpc.js";
import type { Patience } from "../model/patience.js";
import type { Logger } from "../model/telemetry/log.js";
import type { Store } from "../store/store.js";
import { saveRevertCause } from "../store/submissions/saveRevertCause.js";
import { sleepUnless } from "../util/wakeableTimer.js";
import { within } from "../util/within.js";
import { WorkQueue } from "../util/workQueue.js";

/** A submission that is included, and reverted. */
export interface RevertedSubmission {
  readonly id: string;
  readonly keyId: string;
  readonly innerHash: Uint8Array;
  readonly sender: Uint8Array;
  readonly innerRaw: Uint8Array;
  readonly blockNumber: bigint;
  readonly blockHash: Uint8Array;
}

/**
 * Finds why submissions reverted, after their outcomes are stored: a node runs the call again, once. The cause is an extra.
 * It changes no outcome; lines and records do not wait for a late cause.
 */
export type RevertCauses = ReturnType<typeof createRevertCauses>;

/** Replays that run at the same time, in total and for one key. */
const MAX_REPLAYS = 4;
const MAX_REPLAYS_OF_KEY = 2;
/**
 * After a replay that took longer, replays rest for as long, so that expensive replays take at most half of the time.
 */
const CHEAP_REPLAY_MS = 50;
/** Reverts that wait for a replay, in all and of one key. The causes of others are left out. */
const MAX_WAITING = 100;
const MAX_WAITING_OF_KEY = 20;
/** Longer data of a contract's own error is left out. */
const MAX_DATA_BYTES = 1_024;

export interface RevertCausesDependencies {
  readonly store: Pick<Store, "pool">;
  /** The nodes, over connections that no lane uses: a call on which a node hangs makes no node rest for the lanes. */
  readonly rpc: Pick<Rpc, "read">;
  readonly log: Logger;
  readonly patience: Pick<Patience, "causeMs">;
}

export function createRevertCauses({ log, patience, ...dependencies }: RevertCausesDependencies) {
  const turns = createTurns();
  const inProgress = new Map<string, Promise<ErrorValues | undefined>>();
  return {
    /** Finds the cause and stores it. @returns the cause, if it is known within {@link Patience.causeMs}. Never rejects. */
    find(submission: RevertedSubmission) {
      const { id, keyId } = submission;
      const take = () => takeCause(submission, dependencies);
      const finding = turns.run(take, keyId).catch((error: unknown) => {
        log.debug({ id, err: String(error) }, "the cause of a revert was not found");
        return undefined;
      });
      inProgress.set(id, finding);
      void finding.finally(() => inProgress.delete(id));
      return knownInTime(finding, patience.causeMs);
    },
    /**
     * Resolves when the cause of this submission is stored, or is not awaited any more.
     * @returns whether this replica was looking for it.
     */
    async settled(id: string) {
      const finding = inProgress.get(id);
      await knownInTime(finding, patience.causeMs);
      return finding !== undefined;
    },
    close: turns.close,
  };
}

/** Has a node run the transaction again, and stores what it tells. */
async function takeCause(
  submission: RevertedSubmission,
  { store, rpc }: Pick<RevertCausesDependencies, "store" | "rpc">,
): Promise<ErrorValues | undefined> {
  const { innerHash: hash, sender, blockNumber } = submission;
  const tx = decodeInnerTx(submission.innerRaw);
  if (tx.to === undefined) return undefined;
  const failure = await replay(rpc, { tx, sender, to: tx.to, hash, blockNumber });
  const cause = causeValues(tx.gasLimit, failure);
  await saveRevertCause(store, submission, cause);
  return cause;
}

/** Bounds the replays that run and wait, and rests after expensive ones. */
function createTurns() {
  const turns = new WorkQueue({
    ...{ places: MAX_REPLAYS, placesOfParty: MAX_REPLAYS_OF_KEY },
    ...{ waiting: MAX_WAITING, waitingOfParty: MAX_WAITING_OF_KEY },
  });
  const closing = new AbortController();
  return {
    /** Resolves with the work, and holds its turn for as long again if it was expensive. */
    run: <T>(work: () => Promise<T>, keyId: string) =>
      new Promise<T>((resolve, reject) => {
        const task = async () => {
          if (closing.signal.aborted) throw new Error("the service is closed");
          const startedAt = performance.now();
          await work().then(resolve, reject);
          const tookMs = performance.now() - startedAt;
          if (tookMs > CHEAP_REPLAY_MS) await sleepUnless(tookMs, closing.signal);
        };
        turns.run(task, { party: keyId }).catch(reject);
      }),
    close: () => closing.abort(),
  };
}

async function knownInTime(finding: Promise<ErrorValues | undefined> | undefined, patienceMs: number) {
  return finding && (await within(patienceMs, finding).catch(() => undefined));
}

/** The values of the error's details. The gas limit is known even where no node ran the call again. */
function causeValues(gasLimit: bigint, failure: ReplayedFailure | undefined): ErrorValues {
  const known = { gasLimit: gasLimit.toString() };
  if (failure === undefined) return known;
  const { kind, message, panic, data, from } = failure;
  const isData = kind === "custom" && data !== undefined && data.length <= 2 + 2 * MAX_DATA_BYTES;
  return {
    ...known,
    cause: kind,
    causeMessage: kind === "out_of_gas" ? `out of gas, with a gas limit of ${gasLimit}` : message,
    causeFrom: from,
    ...(panic && { panic }),
    ...(isData && { revertData: data }),
  };
}
