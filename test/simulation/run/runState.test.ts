import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { freshFolder } from "../../support/freshFolder.js";
import { OtherBuildError, RunState, type WorldOutcome } from "./runState.js";

const outcome = (seed: number): WorldOutcome => ({
  ...{ seed, digest: `digest ${seed}`, violations: [], counts: {}, virtualMs: 1 },
});
const freshFile = () => join(freshFolder(), "state.jsonl");

describe("the state of a run", () => {
  it("goes on after the worlds that are in its file", () => {
    const file = freshFile();
    const first = new RunState("build", file);
    first.add(outcome(7));
    first.add(outcome(9));
    expect([...new RunState("build", file).outcomes.values()]).toEqual([outcome(7), outcome(9)]);
  });

  it("leaves out the part of a line that a killed process has written", () => {
    const file = freshFile();
    new RunState("build", file).add(outcome(7));
    appendFileSync(file, '{"seed":8,"dig');
    const second = new RunState("build", file);
    second.add(outcome(9));
    expect([...second.outcomes.keys()]).toEqual([7, 9]);
    expect(readFileSync(file, "utf8").trimEnd().split("\n")).toHaveLength(3);
  });

  it("refuses the worlds of another build", () => {
    const file = freshFile();
    new RunState("build", file);
    expect(() => new RunState("another build", file)).toThrow(OtherBuildError);
  });
});
