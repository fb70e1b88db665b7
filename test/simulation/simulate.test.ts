// Short runs of `npm run simulate`, as processes of their own: a simulation replaces the globals of its process.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { freshFolder } from "../support/freshFolder.js";
import { root } from "../support/sourceCode.js";
import type { WorldOutcome } from "./run/runState.js";

function simulate(...args: string[]) {
  const json = join(freshFolder(), "outcome.json");
  const { status, stderr } = spawnSync(process.execPath, ["scripts/simulate.mjs", ...args, "--json", json], {
    cwd: root,
    encoding: "utf8",
  });
  return { status, stderr, read: () => JSON.parse(readFileSync(json, "utf8")) as WorldOutcome[] };
}

describe("npm run simulate", () => {
  it("gives the same world for the same seed, also in a process that ran others", () => {
    const one = simulate("--runs", "3", "--processes", "1");
    const other = simulate("--runs", "3", "--processes", "2");
    expect([one.status, other.status]).not.toContain(2);
    const digests = (outcomes: WorldOutcome[]) => outcomes.map(({ seed, digest }) => `${seed} ${digest}`);
    expect(digests(other.read())).toEqual(digests(one.read()));
  });
});
