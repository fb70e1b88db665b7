// Short runs of `npm run simulate`, as processes of their own: a simulation replaces the globals of its process.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundleSource } from "../../scripts/bundleSource.mjs";
import { freshFolder } from "../support/freshFolder.js";
import { root } from "../support/sourceCode.js";
import type { Behaviour, Deed } from "./behaviours/behaviour.js";
import { drawWorld } from "./outside/drawWorld.js";
import { openServer } from "./run/openServer.js";
import type { WorldOutcome } from "./run/runState.js";
import { WorldProcess } from "./run/worldProcess.js";
import type { WorldPlan } from "./world.js";

function simulate(...args: string[]) {
  return spawnSync(process.execPath, ["scripts/simulate.mjs", ...args], { cwd: root, encoding: "utf8" });
}

/** A world with two replicas and two lanes, in which one thing goes wrong. */
function worldWith(does: Deed, to: number | null): WorldPlan {
  const behaviour: Behaviour = { name: "the one", from: 2_000, to, share: 1, subject: {}, does };
  return {
    ...{
      ...drawWorld(1),
      replicas: 2,
      keys: 2,
      endpoints: 1,
      senders: 3,
      submissions: 3,
      busyMs: 6_000,
      settings: {},
    },
    chain: { pool: "strict", blockMs: 500, personalities: ["geth"] },
    behaviours: [behaviour],
  };
}

describe("a world", () => {
  let server: Awaited<ReturnType<typeof openServer>>;
  let processes: readonly WorldProcess[];

  beforeAll(async () => {
    const program = await bundleSource("test/simulation/run/worker.ts", "simulation-tests");
    server = await openServer(2);
    processes = ["one", "other"].map(
      (database, place) => new WorldProcess({ program, server: server.server, database, place }),
    );
  });

  afterAll(async () => {
    await Promise.all((processes ?? []).map((process) => process.close()));
    await server?.close();
  });

  it.each<[string, Deed, number | null]>([
    ["a replica that is killed and started again", { deed: "kill", replica: 0 }, 5_000],
    ["a replica that ends by itself and is started again", { deed: "leave", replica: 0 }, 5_000],
    ["a replica that is frozen for longer than its leases last", { deed: "freeze", replica: 0 }, 14_000],
    ["a database that ends all sessions", { deed: "end sessions" }, null],
    ["a database that is away for a while", { deed: "database away" }, 5_000],
    ["a lane that is drained, and opened again", { deed: "drain lane", waiver: 0 }, 5_000],
    ["a database that answers after seconds", { deed: "slow database", ms: 3_000 }, 7_000],
  ])("is the same each time with %s, in any process", async (_, does, to) => {
    const plan = worldWith(does, to);
    const results = await Promise.all(
      processes.map(async (process) => [await process.run(plan), await process.run(plan)]),
    );
    const all = results.flat();
    expect(all[0]?.counts.submissions).toBe(9);
    expect(all[0]?.counts.height).toBeGreaterThan(30);
    expect(all.flatMap(({ violations }) => violations.filter(({ law }) => law === "harness"))).toEqual([]);
    expect(new Set(all.map(({ digest }) => digest)).size).toBe(1);
  });

  it("leaves no process behind that works in the next one, where two behaviours start a replica", async () => {
    const killed = worldWith({ deed: "kill", replica: 0 }, 5_000);
    const left = worldWith({ deed: "leave", replica: 0 }, 7_000);
    const plan = { ...killed, behaviours: [...killed.behaviours, ...left.behaviours] };
    const first = await processes[0]?.run(plan);
    const second = await processes[0]?.run(plan);
    expect(second?.digest).toBe(first?.digest);
  });

  it("goes on after a failover that forgets what was broadcast to a node that has lost it", async () => {
    const whole = { share: 1, subject: {} };
    const plan: WorldPlan = {
      ...{ ...drawWorld(41_002_038), replicas: 1, endpoints: 2, keys: 1, senders: 7, submissions: 1 },
      settings: { reorgDepth: 0 },
      chain: { pool: "strict", blockMs: 700, personalities: ["nethermind", "geth"] },
      behaviours: [
        { ...whole, name: "lost commits", from: 2_264, to: 2_863, does: { deed: "failover" } },
        { ...whole, name: "lost", from: 832, to: null, subject: { endpoint: 0 }, does: { deed: "forget" } },
      ],
    };
    const world = await processes[0]?.run(plan);
    expect(world?.counts.submissions).toBe(7);
    expect(world?.violations).toEqual([]);
  });
});

describe("npm run simulate", () => {
  it("finds no broken law in 60 worlds, and goes on where it was stopped", { timeout: 900_000 }, () => {
    const folder = freshFolder();
    const [state, json] = [join(folder, "state.jsonl"), join(folder, "outcomes.json")];
    simulate("--runs", "50", "--state", state);
    const { status, stdout } = simulate("--runs", "60", "--state", state, "--json", json);
    expect(stdout).toContain("60 worlds");
    const outcomes = JSON.parse(readFileSync(json, "utf8")) as WorldOutcome[];
    expect(outcomes.map(({ seed }) => seed)).toEqual(Array.from({ length: 60 }, (_, i) => i + 1));
    expect(outcomes.filter(({ violations }) => violations.length > 0)).toEqual([]);
    expect(status).toBe(0);
  });

  it("refuses a wrong usage", () => {
    expect(simulate("--replay", "x").status).toBe(2);
    expect(simulate("--runs", "0").status).toBe(2);
  });
});
