import { createChain } from "./chain.js";
import { StartError } from "./errors.js";
import { createLog } from "./log.js";
import { createRpc } from "./rpc.js";
import { lastChain } from "./store/chains.js";
import { embeddedConnection } from "./store/embedded.js";
import { type LaneState, type LaneStatus, laneStatuses, setLaneState } from "./store/lanes.js";
import { connectStore } from "./store/Store.js";
import { examine, type Finding } from "./sweep.js";

/** What an operator can do to lanes from outside of the service, while it runs or not. */
export interface LaneAdmin {
  list(): Promise<LaneStatus[]>;
  /** Opens, drains, retires or stops a lane; false if there is none for this waiver (20 bytes). It binds within a second. */
  set(waiver: Uint8Array, state: LaneState, reason?: string): Promise<boolean>;
  /** Holds every lane's unfinished submissions against the chain; changes nothing. */
  examine(rpcUrl: string): Promise<LaneFindings[]>;
  close(): Promise<void>;
}

export interface LaneFindings {
  readonly lane: LaneStatus;
  /** The chain's next nonce of the waiver. */
  readonly chainNonce: bigint;
  /** The lane's waiver nonces that wait for a block, lowest and highest. */
  readonly taken: { readonly lowest: bigint; readonly highest: bigint; readonly count: number } | undefined;
  readonly findings: readonly Finding[];
}

/**
 * Opens the store of a service: by its database URL, or, while the service runs, by its data folder.
 * @throws {@link StartError} if it cannot be reached or belongs to no chain yet.
 */
export async function openLaneAdmin(place: {
  readonly databaseUrl?: string;
  readonly dataDir?: string;
}): Promise<LaneAdmin> {
  const { databaseUrl, dataDir } = place;
  if (databaseUrl === undefined && dataDir === undefined) {
    throw new StartError("neither a database URL nor a data folder is set");
  }
  const connection =
    databaseUrl === undefined ? await embeddedConnection(dataDir ?? "") : { connectionString: databaseUrl };
  const store = await connectStore(connection, createLog("silent"));
  const known = await lastChain(store);
  if (known === undefined) {
    await store.close();
    throw new StartError("the store has served no chain yet");
  }
  const { chainRef } = known;
  return {
    list: () => laneStatuses(store, chainRef),
    set: (waiver, state, reason) => setLaneState(store, chainRef, waiver, state, reason),
    async examine(rpcUrl) {
      const signal = new AbortController().signal;
      const chain = createChain(createRpc({ rpcUrls: [rpcUrl], rpcTimeoutMs: 5_000, signal }));
      const all: LaneFindings[] = [];
      for (const lane of await laneStatuses(store, chainRef)) {
        const [chainNonce = 0n] = await chain.nonces([lane.waiver]);
        const findings = await examine({ chain: chainRef, waiver: lane.waiver }, { store, chain });
        const { rows } = await store.pool.query<{ lowest: string | null; highest: string; count: string }>(
          `select min(waiver_nonce) as lowest, max(waiver_nonce) as highest, count(*) as count from submissions
           where chain = $1 and waiver = $2 and state in ('signed', 'broadcast')`,
          [chainRef, lane.waiver],
        );
        const range = rows[0];
        const taken =
          range?.lowest == null
            ? undefined
            : { lowest: BigInt(range.lowest), highest: BigInt(range.highest), count: Number(range.count) };
        all.push({ lane, chainNonce, taken, findings });
      }
      return all;
    },
    close: () => store.close(),
  };
}
