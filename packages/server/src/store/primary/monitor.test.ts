// When a trouble of the store begins and ends, by a clock that only the test moves.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Logger } from "../../model/telemetry/log.js";
import { DatabaseClock } from "../clock/databaseClock.js";
import type { Queryable } from "../database/database.js";
import { StoreUnavailableError, type TroubleKind, troubleNamed } from "../database/storeTrouble.js";
import { StoreMonitor, type TroubleParty } from "./monitor.js";

const FACTS = {
  ...{ readOnly: false, synchronous: false, encoding: "UTF8", fsync: true, fullPageWrites: true },
  ...{ standbys: 0, seenSynchronous: 0, seesAll: true, oldestTransactionMs: 0 },
};

let logged: string[];
let pollMeets: TroubleKind | undefined;
let monitor: StoreMonitor;

/** The database, as the monitor's own connection finds it. */
const db: Queryable = {
  async query(statement) {
    if (pollMeets) {
      meet(pollMeets, "poll");
      throw new StoreUnavailableError(troubleNamed(pollMeets));
    }
    const text = typeof statement === "string" ? statement : statement.text;
    const row = text.includes("finished_range") ? { now: new Date(), hasDay: true } : FACTS;
    return { rows: text.includes("pg_blocking_pids") ? [] : [row as never], rowCount: 1 };
  },
};

const meet = (kind: TroubleKind, party: TroubleParty = "work") =>
  monitor.report(troubleNamed(kind), new Error(kind), party).kind;
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const kind = () => monitor.trouble?.kind;

beforeEach(async () => {
  vi.useFakeTimers();
  logged = [];
  pollMeets = undefined;
  const tell = ({ trouble }: { trouble?: string }, message: string) =>
    void logged.push(message === "the store works again" ? "over" : `${trouble}`);
  const log = { error: tell, info: tell, warn: () => {}, debug: () => {} } as unknown as Logger;
  monitor = new StoreMonitor({ db, clock: new DatabaseClock(), log, onReadOnly: () => {} });
  await monitor.start({ requireSynchronousStandby: false });
});

afterEach(async () => {
  await monitor.close();
  vi.useRealTimers();
});

describe("a trouble that polls do not meet", () => {
  it("lasts as long as work meets it, is logged now and then, and is over some time later", async () => {
    for (let second = 0; second < 95; second++) {
      meet("full");
      await pass(1_000);
      expect(kind()).toBe("full");
    }
    expect(logged).toEqual(["full", "full", "full", "full"]);
    await pass(13_000);
    expect(kind()).toBe("full");
    await pass(2_000);
    expect(kind()).toBeUndefined();
    expect(logged.at(-1)).toBe("over");
  });

  it("is over within readiness's patience if work met it once, and at once if another query did", async () => {
    meet("full");
    await pass(3_000);
    expect(kind()).toBe("full");
    await pass(1_500);
    expect(kind()).toBeUndefined();
    meet("full", "other");
    await pass(500);
    expect(kind()).toBeUndefined();
  });

  it("keeps its name while connections are cut or wait for it, and no longer", async () => {
    expect(meet("roleLimit")).toBe("roleLimit");
    expect([meet("stopping"), meet("busy"), meet("unreachable")]).toEqual(Array(3).fill("roleLimit"));
    expect(meet("readOnly")).toBe("readOnly");
    await pass(10_000);
    expect(meet("unreachable")).toBe("unreachable");
  });
});

describe("a trouble that polls meet", () => {
  it("is over with the first poll that works, however long work has met it", async () => {
    pollMeets = "starting";
    for (let second = 0; second < 60; second++) {
      meet("starting");
      await pass(1_000);
    }
    pollMeets = undefined;
    await pass(1_000);
    expect(kind()).toBeUndefined();
  });

  it("is over at once if it was a single connection that was cut", async () => {
    meet("stopping");
    await pass(500);
    expect(kind()).toBeUndefined();
  });
});
