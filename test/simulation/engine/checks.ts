import type { EventEmitter } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { createPoster } from "../../../packages/server/src/chain/rpc/httpPoster.js";
import type { WorldRealm } from "../createRealm.js";
import { DatabaseFaults, dropSessions } from "./databaseFaults.js";
import { currentOwner, iterateHere, Owner, runAs } from "./owner.js";
import type { SimulatedDatabase } from "./simulatedDatabase.js";

/** The place in which a check of the engine runs. */
interface Place {
  readonly realm: WorldRealm;
  readonly database: SimulatedDatabase;
}

type Check = (place: Place) => Promise<unknown>;

/** Collects what happens, with the virtual moment. */
function createLog({ clock }: WorldRealm) {
  const lines: string[] = [];
  const log = (line: string) => void lines.push(`${Math.floor(clock.now)} ${line}`);
  return { lines, log };
}

async function connect({ database }: Place): Promise<pg.Client> {
  const client = new pg.Client(database.url);
  client.on("error", () => {});
  await client.connect();
  return client;
}

const codeOf = (error: unknown) => (error as { code?: string }).code ?? (error as Error).message;
const codesOf = (outcomes: readonly PromiseSettledResult<unknown>[]) =>
  outcomes.map((one) => (one.status === "fulfilled" ? "done" : codeOf(one.reason)));

const LOCK = "select pg_advisory_xact_lock(1)";
const lock = (key: number) => `select pg_advisory_xact_lock(${key})`;

/** Each check runs in a world of its own, and returns what the test compares. */
export const CHECKS: Readonly<Record<string, Check>> = {
  async timers({ realm }) {
    const { lines, log } = createLog(realm);
    const start = Date.now();
    setTimeout(() => log("second"), 20);
    setTimeout(() => log("first"), 10.9);
    const interval = setInterval(() => log("again"), 30);
    clearTimeout(setTimeout(() => log("never"), 5));
    const postponed = setTimeout(() => log("postponed"), 15);
    setTimeout(() => postponed.refresh(), 14);
    setImmediate(() => log("immediate"));
    AbortSignal.timeout(40).addEventListener("abort", () => log("aborted"));
    await sleep(100);
    clearInterval(interval);
    log(`${Date.now() - start} ms passed`);
    return lines;
  },

  async processes({ realm }) {
    const { clock } = realm;
    const { lines, log } = createLog(realm);
    const [frozen, dead] = [new Owner("frozen"), new Owner("dead")];
    runAs(frozen, () => void setInterval(() => log("beat"), 40));
    runAs(dead, () => void setTimeout(() => log("the dead speak"), 100));
    runAs(frozen, () => {
      frozen.clockStepMs = 5_000;
      const own = Date.now();
      runAs(undefined, () => log(`${own - Date.now()} ms ahead`));
    });
    await sleep(50);
    frozen.isFrozen = true;
    dead.isDead = true;
    await sleep(200);
    log("thaw");
    clock.thaw(frozen);
    await sleep(90);
    frozen.isDead = true;
    return lines;
  },

  async iterations({ realm }) {
    const { lines, log } = createLog(realm);
    async function* beats() {
      for (;;) {
        await sleep(40);
        yield `a beat of ${currentOwner()?.name}`;
      }
    }
    const owner = new Owner("one");
    const listen = async () => {
      for await (const beat of runAs(owner, () => iterateHere(beats())))
        log(`${beat} for ${currentOwner()?.name}`);
    };
    void listen();
    await sleep(100);
    owner.isDead = true;
    await sleep(100);
    return lines;
  },

  async databaseTime(place) {
    const client = await connect(place);
    const secondsAhead = (time: Date) => Math.round((time.getTime() - Date.now()) / 1_000) || 0;
    const times = async () => {
      const { rows } = await client.query("select now() as now, clock_timestamp() as clock");
      return [secondsAhead(rows[0].now), secondsAhead(rows[0].clock)];
    };
    const before = await times();
    await sleep(60_000);
    const after = await times();
    place.database.stepMs = -7_200_000;
    return { before, after, stepped: await times() };
  },

  async lockWait(place) {
    const { lines, log } = createLog(place.realm);
    const [one, other] = [await connect(place), await connect(place)];
    await one.query("begin");
    await one.query(LOCK);
    const waiting = other.query(LOCK).then(() => log("the other has the lock"));
    await sleep(500);
    log("the one ends");
    await one.query("commit");
    await waiting;
    return { lines, waits: place.realm.gate.lockWaits };
  },

  async lockTimeout(place) {
    const { lines, log } = createLog(place.realm);
    const [one, other] = [await connect(place), await connect(place)];
    await one.query("begin");
    await one.query(LOCK);
    await other.query("begin; set local lock_timeout = '3s'");
    await other.query(LOCK).catch((error) => log(codeOf(error)));
    await other.query("rollback");
    return lines;
  },

  async idleTransaction(place) {
    const { lines, log } = createLog(place.realm);
    const [one, other] = [await connect(place), await connect(place)];
    one.on("error", (error) => log(`lost: ${codeOf(error)}`));
    await one.query("begin; set local idle_in_transaction_session_timeout = '3s'");
    await one.query(LOCK);
    await other.query(LOCK);
    log("the other has the lock");
    return lines;
  },

  async lostSessions(place) {
    const { realm, database } = place;
    const lines: string[] = [];
    const connectAs = (name: string) =>
      runAs(new Owner(name), async () => {
        const client = await connect(place);
        client.once("error", () => void lines.push(`${currentOwner()?.name} loses the session of ${name}`));
        return client;
      });
    await (await connectAs("first")).end();
    await Promise.all([connectAs("one"), connectAs("other")]);
    new DatabaseFaults(realm, database).endSessions();
    await sleep(1);
    return lines;
  },

  async killedProcess(place) {
    const client = await connect(place);
    const { gate, sessions } = place.realm;
    await gate.exclusively(() => dropSessions(place.database, place.realm, sessions.all()));
    return codesOf(await Promise.allSettled([client.query("select 1")]));
  },

  async readOnlyDatabase(place) {
    const { realm, database } = place;
    await (await connect(place)).end();
    new DatabaseFaults(realm, database).setReadOnly(true);
    await sleep(1);
    const client = await connect(place);
    const { rows } = await client.query("show transaction_read_only");
    return rows;
  },

  async awayDatabase(place) {
    const faults = new DatabaseFaults(place.realm, place.database);
    const tryToConnect = () => connect(place).then(() => "connected", codeOf);
    faults.setAway(true);
    const away = await tryToConnect();
    faults.setAway(false);
    return [away, await tryToConnect()];
  },

  async deadlock(place) {
    const [one, other] = [await connect(place), await connect(place)];
    for (const [client, key] of [
      [one, 1],
      [other, 2],
    ] as const) {
      await client.query("begin");
      await client.query(lock(key));
    }
    return codesOf(await Promise.allSettled([one.query(lock(2)), other.query(lock(1))]));
  },

  async silentDatabase(place) {
    const { lines, log } = createLog(place.realm);
    const client = await connect(place);
    const { stream } = (
      client as unknown as {
        connection: { stream: EventEmitter & { destroy(error: Error): void; setTimeout(ms: number): void } };
      }
    ).connection;
    stream.setTimeout(10_000);
    stream.on("timeout", () => stream.destroy(new Error("too long")));
    new DatabaseFaults(place.realm, place.database).setSlowness(15_000);
    await client.query("select 1").catch((error) => log(codeOf(error)));
    return lines;
  },

  async notifications(place) {
    const { lines, log } = createLog(place.realm);
    const sender = await connect(place);
    for (const name of ["first", "second"]) {
      const listener = await connect(place);
      listener.on("notification", ({ payload }) => log(`${name} ${payload}`));
      await listener.query("listen here");
    }
    await sleep(1_000);
    await sender.query("select pg_notify('here', 'x')");
    await sleep(1_000);
    return lines.map((line) => line.replace(/^\d+ /, "")).sort();
  },

  async failover(place) {
    const faults = new DatabaseFaults(place.realm, place.database);
    const read = async () => {
      const client = await connect(place);
      const { rows } = await client.query(
        "select (select count(*)::int from chains) as chains, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) as timeline",
      );
      return rows[0];
    };
    const client = await connect(place);
    const insert = () =>
      client.query("insert into chains select 1 + count(*), 1, decode(repeat('00', 32), 'hex') from chains");
    await insert();
    faults.leaveStandbyBehind();
    await insert();
    const before = await read();
    faults.failOver();
    return { before, after: await read() };
  },

  async keptConnections({ realm }) {
    const asked: string[] = [];
    realm.network.endpoints.set("node0", {
      answer({ body, isReusedConnection }) {
        asked.push(`${body} ${isReusedConnection ? "reused" : "new"}`);
        return body === "b" && isReusedConnection
          ? { is: "reset" }
          : { is: "answer", status: 200, body: "fine" };
      },
    });
    const ended = new AbortController();
    const poster = createPoster("http://node0:8545", { rpcTimeoutMs: 5_000, signal: ended.signal });
    for (const body of ["a", "b", "c"]) asked.push((await poster.post(body)).text);
    return asked;
  },

  async badConnections({ realm }) {
    const { lines, log } = createLog(realm);
    const replies = {
      refused: { is: "refused" },
      cut: { is: "cut", status: 200, body: "half of it", bytes: 4 },
      hung: { is: "hung" },
    } as const;
    for (const [name, reply] of Object.entries(replies)) {
      realm.network.endpoints.set(name, { answer: () => reply });
      const poster = createPoster(`http://${name}`, {
        rpcTimeoutMs: 5_000,
        signal: new AbortController().signal,
      });
      await poster.post("x").catch((error) => log(`${name}: ${error.message}`));
    }
    return lines.map((line) => line.replace(/^\d+ /, ""));
  },
};
