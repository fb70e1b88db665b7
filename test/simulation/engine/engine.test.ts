// The engine of the simulation, in a process of its own, whose globals it replaces.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleSource } from "../../../scripts/bundleSource.mjs";
import { openServer } from "../run/openServer.js";
import { WorldProcess } from "../run/worldProcess.js";

let server: Awaited<ReturnType<typeof openServer>>;
let worker: WorldProcess;

beforeAll(async () => {
  const program = await bundleSource("test/simulation/engine/checkWorker.ts", "simulation-checks");
  server = await openServer(1);
  worker = new WorldProcess({ program, server: server.server, database: "checks", place: 0 });
});

afterAll(async () => {
  await worker?.close();
  await server?.close();
});

const check = (name: string) => worker.ask(name);

describe("virtual time", () => {
  it("lets timers fire in order, at their moments", async () => {
    expect(await check("timers")).toEqual([
      ...["0 immediate", "10 first", "20 second", "29 postponed", "30 again", "40 aborted", "60 again"],
      ...["90 again", "100 100 ms passed"],
    ]);
  });

  it("holds the timers of a frozen process, and forgets those of a dead one", async () => {
    expect(await check("processes")).toEqual([
      ...["0 5000 ms ahead", "40 beat", "250 thaw", "250 beat", "290 beat", "330 beat"],
    ]);
  });

  it("runs a generator as the process that made it, and not after that one's end", async () => {
    expect(await check("iterations")).toEqual([
      "40 a beat of one for undefined",
      "80 a beat of one for undefined",
    ]);
  });
});

describe("the simulated database", () => {
  it("shows virtual time, and a clock of its own that steps", async () => {
    expect(await check("databaseTime")).toEqual({
      ...{ before: [0, 0], after: [0, 0], stepped: [-7_200, -7_200] },
    });
  });

  it("lets a statement wait for a lock while the others go on", async () => {
    expect(await check("lockWait")).toEqual({
      lines: [
        expect.stringMatching(/^50\d the one ends$/),
        expect.stringMatching(/^50\d the other has the lock$/),
      ],
      waits: 1,
    });
  });

  it("ends a wait for a lock after its virtual time limit", async () => {
    expect(await check("lockTimeout")).toEqual([expect.stringMatching(/^300\d 55P03$/)]);
  });

  it("ends an idle transaction after its virtual time limit", async () => {
    expect(await check("idleTransaction")).toEqual([
      expect.stringMatching(/^300\d lost: 25P03$/),
      expect.stringMatching(/^300\d lost: Connection terminated unexpectedly$/),
      expect.stringMatching(/^300\d the other has the lock$/),
    ]);
  });

  it("tells the loss of a session to the process that has it", async () => {
    expect(await check("lostSessions")).toEqual(
      ["one", "other"].map((name) => `${name} loses the session of ${name}`),
    );
  });

  it("refuses a statement on a session of a killed process", async () => {
    expect(await check("killedProcess")).toEqual(["Client was closed and is not queryable"]);
  });

  it("is read-only for those too that could have a connection of an earlier world", async () => {
    expect(await check("readOnlyDatabase")).toEqual([{ transaction_read_only: "on" }]);
  });

  it("refuses connections while it is away, and takes them when it is back", async () => {
    expect(await check("awayDatabase")).toEqual(["ECONNREFUSED", "connected"]);
  });

  it("ends one of two transactions that wait for each other", async () => {
    expect(await check("deadlock")).toEqual(["done", "40P01"]);
  });

  it("is silent for longer than a socket waits", async () => {
    expect(await check("silentDatabase")).toEqual([expect.stringMatching(/^1000\d too long$/)]);
  });

  it("tells notifications to each listener", async () => {
    expect(await check("notifications")).toEqual(["first x", "second x"]);
  });

  it("fails over to a standby that lacks the last rows", async () => {
    expect(await check("failover")).toEqual({
      before: { chains: 2, timeline: "00000001" },
      after: { chains: 1, timeline: "00000002" },
    });
  });
});

describe("the simulated network", () => {
  it("keeps connections, and lets the service repeat on a new one what a reset kept one has carried", async () => {
    expect(await check("keptConnections")).toEqual([
      ...["a new", "fine", "b reused", "b new", "fine", "c new", "fine"],
    ]);
  });

  it("refuses, cuts and hangs", async () => {
    expect(await check("badConnections")).toEqual([
      ...["refused: connect ECONNREFUSED", "cut: aborted", "hung: no answer within 5000 ms"],
    ]);
  });
});
