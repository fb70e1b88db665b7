import { chownSync, closeSync, ftruncateSync, lstatSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import type pg from "pg";
import { openStore } from "../../../packages/server/src/store/store.js";
import { silent } from "../../../packages/server/test/support/postgresNode.js";
import { connectNow, endNow, queryNow } from "./driver.js";
import { KeptConnections } from "./keptConnections.js";
import { EPOCH } from "./realm.js";
import { real } from "./realTime.js";

/** A PostgreSQL server for simulations. */
export interface DatabaseServer {
  /** The folder of its socket. */
  readonly host: string;
  readonly user: string;
  /** The folder of its files. */
  readonly folder: string;
}

const TEMPLATE = "simulation_template";
/** The folder of the files whose sizes are the clocks of the databases, in ms since {@link CLOCKS_BEGIN}. */
const CLOCKS = "simulation_clocks";
/** A file's size is never negative: a clock that steps back has room for this long. */
const STEP_BACK_MS = 30 * 86_400_000;
const CLOCKS_BEGIN = EPOCH - STEP_BACK_MS;

/** The functions that ask for the time. Tables and functions bind to those in `public`, as it comes first in the search path. */
const TIME_FUNCTIONS = ["now", "clock_timestamp", "statement_timestamp", "transaction_timestamp"];
const NOW = `pg_catalog.to_timestamp((${CLOCKS_BEGIN} +
  (pg_catalog.pg_stat_file('${CLOCKS}/' || pg_catalog.current_database())).size)::float8 / 1000)`;
/** A function that calls a volatile one is no part of the plan: each call would run a query. */
const STABLE_CLOCK = "update pg_proc set provolatile = 's' where proname = 'pg_stat_file'";

const SEARCH_PATH = "public,pg_catalog";

const urlOf = ({ host, user }: DatabaseServer, name: string) =>
  `postgres://${user}@localhost/${name}?host=${encodeURIComponent(host)}&options=${encodeURIComponent(`-c search_path=${SEARCH_PATH}`)}`;

/** Makes the database that those of all worlds are copies of: the store's tables, in which PostgreSQL's time is virtual. */
export async function makeTemplate(server: DatabaseServer): Promise<void> {
  const { uid, gid } = lstatSync(server.folder);
  mkdirSync(join(server.folder, CLOCKS));
  chownSync(join(server.folder, CLOCKS), uid, gid);
  const clock = openClock(server, TEMPLATE);
  // The template has the partitions of the first days, which cost 40 ms a world.
  ftruncateSync(clock, STEP_BACK_MS);
  closeSync(clock);
  const admin = await connectNow({ ...server, database: "postgres" });
  await queryNow(admin, `create database ${TEMPLATE}`);
  await endNow(admin);
  const template = await connectNow({ ...server, database: TEMPLATE });
  await queryNow(template, STABLE_CLOCK);
  for (const name of TIME_FUNCTIONS) {
    const head = `create function public.${name}() returns timestamptz language sql stable parallel safe`;
    await queryNow(template, `${head} as $f$ select ${NOW} $f$`);
  }
  await queryNow(template, timelineFunction(1));
  await (await openStore({ databaseUrl: urlOf(server, TEMPLATE) }, silent)).close();
  await queryNow(template, `set search_path = ${SEARCH_PATH}`);
  await queryNow(template, "select create_finished_days(2)");
  await queryNow(template, keepRows(FIRST));
  // Rows lie in the tables as they do after each world.
  await queryNow(template, restoreRows(FIRST));
  await endNow(template);
}

function openClock({ folder }: DatabaseServer, name: string): number {
  return openSync(join(folder, CLOCKS, name), "w+");
}

const BLOCKED = `
  with recursive blocker (pid) as (
    select unnest(pg_blocking_pids($1))
    union select unnest(pg_blocking_pids(pid)) from blocker
  )
  select count(*) > 0 and not bool_or(pid = $1) as blocked from blocker`;

/**
 * Replaces the name of the current file of the write-ahead log, whose first eight digits are the timeline, and the server's start: each
 * timeline has a server of its own.
 */
const timelineFunction = (timeline: number) => `
  create or replace function public.pg_walfile_name(pg_lsn) returns text language sql stable
  as $f$ select '${timeline.toString(16).padStart(8, "0")}0000000000000000' $f$;
  create or replace function public.pg_postmaster_start_time() returns timestamptz language sql stable parallel safe
  as $f$ select to_timestamp(${timeline}) $f$`;

/** The tables with rows of their own: partitions are part of theirs. */
const TABLES =
  "select c.relname as name from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition";

/** The schemas that keep the rows with which each world begins, and those of a standby. */
const FIRST = "first_state";
const STANDBY = "standby_state";

const keepRows = (schema: string) => `
  do $$ declare name text; begin
    drop schema if exists ${schema} cascade;
    create schema ${schema};
    for name in ${TABLES} loop
      execute format('create table ${schema}.%1$I as table public.%1$I', name);
    end loop;
  end $$`;

/** The tables of a schema that are not as new: a table that is truncated has new files, and sessions plan anew what reads it. */
const used = (schema: string) =>
  `from pg_class where relnamespace = '${schema}'::regnamespace and relkind = 'r' and pg_relation_size(oid) > 0`;

const restoreRows = (schema: string) => `
  do $$ declare name text; columns text; begin
    set local session_replication_role = replica;
    execute (select 'truncate ' || string_agg(format('public.%I', relname), ', ') || ' cascade' ${used("public")});
    for name in select relname ${used(schema)} loop
      select string_agg(format('%I', a.attname), ', ') into columns from pg_attribute a
        where a.attrelid = format('public.%I', name)::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = '';
      execute format('insert into public.%1$I (%2$s) select %2$s from ${schema}.%1$I', name, columns);
    end loop;
  end $$`;

/**
 * Names everything that has been made in a database, so that another name means that something was made since, such as a partition; and
 * counts the other sessions there.
 */
const STATE = `
  select md5(string_agg(oid::text, ' ' order by oid)) as made,
         (select count(*)::int from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()) as sessions
  from (
    select oid from pg_class where relnamespace = 'public'::regnamespace
    union all select oid from pg_constraint where connamespace = 'public'::regnamespace) t`;

/** The database of a process that runs one world after the other. */
export class SimulatedDatabase {
  readonly #server: DatabaseServer;
  readonly name: string;
  readonly #clock: number;
  readonly #admin: pg.Client;
  readonly #kept = new KeptConnections();
  #control: pg.Client | undefined;
  #shownMs = -1;
  /** Names what was made in the database before its first world. */
  #made = "";
  /** A world has changed more than rows. */
  #isSpoiled = false;
  /** The database's clock is ahead by this many ms. */
  stepMs = 0;

  private constructor(server: DatabaseServer, name: string, admin: pg.Client) {
    this.#server = server;
    this.name = name;
    this.#admin = admin;
    this.#clock = openClock(server, name);
  }

  static async open(server: DatabaseServer, name: string): Promise<SimulatedDatabase> {
    return new SimulatedDatabase(server, name, await connectNow({ ...server, database: "postgres" }));
  }

  get url(): string {
    return urlOf(this.#server, this.name);
  }

  /** A connection of the simulation itself, which no statement of the service goes through. */
  get control(): pg.Client {
    if (this.#control === undefined) throw new Error("the database has not been made");
    return this.#control;
  }

  /**
   * Makes the database as it was before its first world. Where only rows have changed, they are brought back, and the connections that
   * were kept are good for the next world; a copy of the template costs more than a short world.
   */
  async renew(): Promise<void> {
    this.stepMs = 0;
    if (!(await this.#bringBackRows())) await this.#copyTemplate();
    this.show(0);
  }

  async #bringBackRows(): Promise<boolean> {
    if (this.#control === undefined || this.#isSpoiled) return false;
    const { made, sessions } = await this.#state();
    // Another session may have locks, for which this one would wait.
    if (made !== this.#made || sessions !== this.#kept.count) return false;
    await queryNow(this.control, restoreRows(FIRST));
    return true;
  }

  async #copyTemplate(): Promise<void> {
    this.#kept.clear();
    if (this.#control !== undefined) await endNow(this.#control);
    await queryNow(this.#admin, `drop database if exists ${this.name} with (force)`);
    await queryNow(this.#admin, `create database ${this.name} template ${TEMPLATE} strategy file_copy`);
    this.#control = await connectNow({ ...this.#server, database: this.name });
    this.#isSpoiled = false;
    this.#made = (await this.#state()).made;
  }

  async #state(): Promise<{ readonly made: string; readonly sessions: number }> {
    const [row] = await queryNow<{ made: string; sessions: number }>(this.control, STATE);
    if (row === undefined) throw new Error("the database did not tell its state");
    return row;
  }

  /** Gives a client that is about to connect a connection of an earlier world, if one was kept. */
  lendConnection(client: pg.Client): void {
    this.#kept.lend(client);
  }

  /** Takes the connection of a client that has ended, or whose process has. @returns false where it has to be ended at the server. */
  async keepConnection(client: pg.Client): Promise<boolean> {
    return !this.#isSpoiled && (await this.#kept.keep(client));
  }

  /** Sets the clock that the database shows. */
  show(nowMs: number): void {
    const ms = STEP_BACK_MS + Math.floor(nowMs + this.stepMs);
    if (ms === this.#shownMs) return;
    ftruncateSync(this.#clock, ms);
    this.#shownMs = ms;
  }

  /**
   * Whether a session waits for a lock that another one holds. It does not where both wait for each other: the server ends such a
   * deadlock after some ms.
   */
  async isBlocked(pid: number): Promise<boolean> {
    const rows = await queryNow<{ blocked: boolean }>(this.control, BLOCKED, [pid]);
    return rows[0]?.blocked ?? false;
  }

  async endSession(pid: number): Promise<void> {
    await queryNow(this.control, "select pg_terminate_backend($1)", [pid]);
  }

  /** Resolves when the server has forgotten sessions that end, and released their locks. */
  async untilGone(pids: readonly number[]): Promise<void> {
    const left = "select pid from pg_stat_activity where pid = any($1)";
    while ((await queryNow(this.control, left, [pids])).length > 0)
      await new Promise((resolve) => real.setTimeout(resolve, 1));
  }

  async cancelStatement(pid: number): Promise<void> {
    await queryNow(this.control, "select pg_cancel_backend($1)", [pid]);
  }

  /** Keeps a copy of all rows, for {@link restoreState}. */
  async keepState(): Promise<void> {
    await queryNow(this.control, keepRows(STANDBY));
  }

  /** Brings back the rows that {@link keepState} has kept. No other session may be open. */
  async restoreState(): Promise<void> {
    await queryNow(this.control, restoreRows(STANDBY));
  }

  /** Lets the server be on another timeline, as after the promotion of a standby. */
  async setTimeline(timeline: number): Promise<void> {
    this.#isSpoiled = true;
    await queryNow(this.control, timelineFunction(timeline));
  }

  /** Lets sessions that begin from now on read only, or write again. */
  async setReadOnly(isReadOnly: boolean): Promise<void> {
    this.#isSpoiled = true;
    this.#kept.clear();
    await queryNow(
      this.control,
      `alter database ${this.name} set default_transaction_read_only = ${isReadOnly}`,
    );
  }

  async close(): Promise<void> {
    this.#kept.clear();
    if (this.#control !== undefined) await endNow(this.#control);
    await endNow(this.#admin);
    closeSync(this.#clock);
  }
}
