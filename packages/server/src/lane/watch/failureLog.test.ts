import { expect, it } from "vitest";
import { RpcUnavailableError } from "../../chain/rpc/rpc.js";
import type { Logger } from "../../model/telemetry/log.js";
import { createFailures } from "./watch.js";

const SILENCE = new RpcUnavailableError("the node gave no answer", "unknown");
const REFUSAL = new Error("method not found");
const UNANSWERED = "warn watcher: tries again";
const WELL = "info watcher: nodes answer again";

/** Notes the outcomes of two things that a loop does. @returns what was logged, by the outcomes. */
function logOf(...outcomes: readonly (readonly ["a" | "b", Error | undefined])[]): string[][] {
  const logged: string[][] = [];
  const tell = (level: string) => (first: unknown, message?: string) =>
    void logged.at(-1)?.push(`${level} ${message ?? first}`);
  const log = Object.fromEntries(["debug", "info", "warn"].map((level) => [level, tell(level)]));
  const failures = createFailures(log as unknown as Logger, "watcher");
  const things = { a: {}, b: {} };
  for (const [name, error] of outcomes) {
    logged.push([]);
    if (error) failures.note(things[name], error);
    else failures.end(things[name]);
  }
  return logged;
}

it("a loop tells once that no node answers, and once that all that it does goes on again", () => {
  const logged = logOf(
    ["a", undefined],
    ["a", SILENCE],
    ["b", SILENCE],
    ["a", SILENCE],
    ["a", undefined],
    ["b", undefined],
    ["b", undefined],
    ["b", SILENCE],
    ["b", undefined],
  );
  expect(logged).toEqual([[], [UNANSWERED], [], [], [], [WELL], [], [UNANSWERED], [WELL]]);
});

it("a loop tells of each other failure, also while no node answers", () => {
  const logged = logOf(["a", SILENCE], ["a", REFUSAL], ["a", SILENCE], ["b", REFUSAL]);
  expect(logged).toEqual([[UNANSWERED], [UNANSWERED], [UNANSWERED], [UNANSWERED]]);
});
