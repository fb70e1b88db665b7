import { queueLengths } from "../../packages/server/dist/store/accept/queueLengths.js";
import { createConnection, Pool } from "../../packages/server/dist/store/database/database.js";
import { findLaneStatuses } from "../../packages/server/dist/store/lanes/laneStatus.js";
import { readLaneSnapshot } from "../../packages/server/dist/store/lanes/queue/laneSnapshot.js";
import { findInFlight } from "../../packages/server/dist/store/lanes/queue/unfinished.js";
import { prepareSession } from "../../packages/server/dist/store/primary/session.js";
import { embeddedConnection } from "../../packages/server/dist/store/server/embedded.js";
import { median } from "../median.mjs";

const CALLS = 10;
/** The limits of a lane's step. */
const LIMITS = { ready: 198, due: 64, ofSender: 20 };

/** Opens the database of a running service, for a transaction that stays open and for the statements of its steps. */
export async function openDatabase(dataDir) {
  const address = await embeddedConnection(dataDir);
  const pool = new Pool({ ...address, prepare: prepareSession, maxConnections: 1 });
  const store = { pool };
  const { rows } = await pool.query("select chain, waiver, owner, epoch from lanes limit 1");
  const [lane] = rows;
  let floors = [];
  const statements = {
    "full reading of the lanes": async () => {
      floors = await findLaneStatuses(store, lane.chain);
    },
    "lane snapshot": () => readLaneSnapshot(store, lane, { ...LIMITS, queueFloor: floors[0].queueFloor }),
    "in flight": () => findInFlight(store, lane, { limit: 1 }),
    "lane statuses": () => findLaneStatuses(store, lane.chain, floors),
    "queue lengths": () => queueLengths(store, lane.chain, floors),
  };
  return {
    /** Opens a transaction that has written and read. @returns a function that ends it. */
    async openTransaction() {
      const connection = createConnection(address);
      await connection.connect();
      await connection.query("begin isolation level repeatable read");
      await connection.query("select pg_current_xact_id(), (select count(*) from unfinished)");
      return () => connection.end();
    },
    /** The median time of each statement in ms, and the dead rows of the tables that change most. */
    async statementTimes() {
      const times = {};
      for (const [name, run] of Object.entries(statements)) times[name] = await timeOf(run);
      return times;
    },
    async deadRows() {
      const { rows } = await pool.query(
        `select relname as table, n_dead_tup::float8 as dead from pg_stat_user_tables
         where n_dead_tup > 500 order by n_dead_tup desc`,
      );
      return Object.fromEntries(rows.map(({ table, dead }) => [table, dead]));
    },
    /** Removes dead rows, so that the next measurement begins without them. */
    async vacuum() {
      await pool.query("vacuum");
    },
    close: () => pool.end(),
  };
}

async function timeOf(run) {
  await run();
  const times = [];
  for (let i = 0; i < CALLS; i++) {
    const startedAt = performance.now();
    await run();
    times.push(performance.now() - startedAt);
  }
  return median(times);
}
