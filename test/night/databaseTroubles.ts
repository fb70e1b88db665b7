import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createConnection } from "../../packages/server/src/store/database/database.js";
import { succeeds, type Troubles } from "./trouble.js";
import type { World } from "./world.js";

/** Holds what these statements lock, or their transaction open, until somebody ends the session. */
function holdTransaction(...statements: readonly string[]) {
  return async ({ postgres, database }: World) => {
    const session = createConnection({
      ...{ ...postgres.primary.superuser, database, applicationName: "colleague" },
    });
    await session.connect();
    await session.query("begin");
    for (const statement of statements) await session.query(statement);
  };
}

const terminate = ({ sql }: World, condition: string) =>
  sql(
    `select pg_terminate_backend(pid) from pg_stat_activity where ${condition} and pid <> pg_backend_pid()`,
  );

/** The line of the log that names a session by its pid. */
const BLOCKER = /"blocker":\{[^}]*"pid":(\d+)/;

/** Ends the session that the log names. */
async function terminateNamed(world: World, signal: string): Promise<void> {
  const [, pid] = BLOCKER.exec(signal) ?? [];
  if (pid === undefined) throw new Error(`no pid is named in ${signal}`);
  await terminate(world, `pid = ${pid}`);
}

const FILLER = "night_filler";
const DISK_MB = 24;

/** Puts the outcomes on a disk of their own, which is small. */
async function moveToSmallDisk({ postgres, sql, closers, folder }: World): Promise<void> {
  const disk = join(folder, "disk");
  mkdirSync(disk);
  chmodSync(folder, 0o711);
  const { uid } = statSync(`/proc/${await postgres.primary.pid()}`);
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${DISK_MB}m,uid=${uid}`, "none", disk]);
  closers.push(() => execFileSync("umount", ["-l", disk]));
  await sql(`create tablespace small location '${disk}'`);
  const [found] = await sql<{ tables: string[] }>(
    `select array_agg(inhrelid::regclass::text) as tables from pg_inherits where inhparent = 'finished'::regclass`,
  );
  for (const table of [...(found?.tables ?? []), "unfinished"])
    await sql(`alter table ${table} set tablespace small`);
  await sql(
    `create table ${FILLER} (byte text) with (autovacuum_enabled = off) tablespace small`,
    `alter table ${FILLER} alter byte set storage plain`,
  );
}

/** Fills the disk by ever fewer and smaller rows, until no further one has room. */
async function fillDisk({ sql }: World): Promise<void> {
  for (const [rows, bytes] of [
    [1_000, 7_000],
    [50, 7_000],
    [50, 1_000],
    [50, 10],
  ]) {
    const insert = `insert into ${FILLER} select repeat('x', ${bytes}) from generate_series(1, ${rows})`;
    while (await succeeds(sql(insert)));
  }
}

const canMount = () => (process.getuid?.() === 0 ? undefined : "only root can make a small disk");

const DATABASE_DOWN = ["GasWaiverDatabaseDown", "GasWaiverRefuses"];

/** Troubles of the database. */
export const DATABASE_TROUBLES = {
  databaseRestarted: {
    text: "PostgreSQL restarts (6 s)",
    signal: /"trouble":"|the store (does not|is) /,
    alarms: [],
    remedy: "nothing: it comes back",
    async begin({ postgres }) {
      await postgres.halt();
      await sleep(6_000);
      await postgres.resume();
    },
    end() {},
  },
  standbyAway: {
    text: "the synchronous standby is away",
    signal: /noStandby"?\} 1|"trouble":"noStandby"|standby is away/,
    alarms: ["GasWaiverSynchronousStandbyAway"],
    remedy: "bring it back",
    prepare: ({ postgres }) => postgres.addStandby("synchronous"),
    begin: ({ postgres }) => postgres.stopStandby(),
    end: ({ postgres }) => postgres.startStandby(),
  },
  switchedOver: {
    text: "PostgreSQL is switched over",
    signal: /"trouble":"|the store (does not|is) |store_trouble\{[^}]*\} 1/,
    alarms: [],
    remedy: "nothing: connections follow",
    async prepare({ postgres }) {
      // The standby of the trouble before, if there was one.
      await postgres.addStandby("synchronous").catch(() => {});
    },
    begin: ({ postgres }) => postgres.switchOver(),
    end() {},
  },
  databaseFull: {
    text: "the database's disk is full",
    signal: /kind="full"\} 1|"trouble":"full"|no room left/,
    alarms: DATABASE_DOWN,
    remedy: "free the disk",
    skip: canMount,
    prepare: moveToSmallDisk,
    begin: fillDisk,
    end: ({ sql }) => sql(`drop table ${FILLER}`),
  },
  noConnections: {
    text: "PostgreSQL has no connection left",
    signal: /kind="connections"\} 1|"trouble":"connections"|no connection left/,
    alarms: DATABASE_DOWN,
    remedy: "raise the limit",
    async begin(world) {
      await world.sql(`alter role ${world.role} connection limit 0`);
      await terminate(world, `usename = '${world.role}'`);
    },
    end: ({ sql, role }) => sql(`alter role ${role} connection limit -1`),
  },
  tableLocked: {
    text: "a colleague locks a table",
    signal: BLOCKER,
    alarms: ["GasWaiverDatabaseBlocked"],
    remedy: "`select pg_terminate_backend(PID)`",
    begin: holdTransaction("lock table unfinished in access exclusive mode"),
    end: terminateNamed,
  },
  laneRowLocked: {
    text: "a colleague locks a lane's row",
    signal: BLOCKER,
    alarms: ["GasWaiverDatabaseBlocked", "GasWaiverLaneUnusable"],
    remedy: "`select pg_terminate_backend(PID)`",
    begin: holdTransaction("select from lanes order by waiver limit 1 for update"),
    end: terminateNamed,
  },
  transactionOpen: {
    text: "a transaction stays open (bound: 10 s for 600)",
    signal: /oldest_transaction_seconds (?:[89]|\d{2,})/,
    alarms: ["GasWaiverTransactionOpen"],
    remedy: "`select pg_terminate_backend(PID)`",
    begin: holdTransaction("select count(*) from unfinished"),
    end: (world) => terminate(world, "application_name = 'colleague'"),
  },
  databaseCertificate: {
    text: "the database's certificate has ended",
    signal: /kind="tls"\} 1|"trouble":"tls"|TLS connection cannot/,
    alarms: ["GasWaiverDatabaseCertificateEnds", "GasWaiverDatabaseDown"],
    remedy: "renew it",
    begin({ front, certificates }) {
      front.certificate = certificates.ended;
      front.cut();
    },
    end({ front, certificates }) {
      front.certificate = certificates.renewed;
    },
  },
} satisfies Troubles;
