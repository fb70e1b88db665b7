import { writeSync } from "node:fs";

/**
 * Prints `N passed, N failed[, N skipped]` as the very last line, after what other reporters print.
 * What stops tests from running (a file that cannot be loaded, a hook that fails) and errors that belong to
 * no test count as failed, so that a red run never says 0 failed.
 */
export default class CountingReporter {
  #count;

  onTestRunEnd(modules, unhandledErrors, reason) {
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) count[columnOf(test.result().state, reason)] += 1;
      count.failed += module.errors().length;
      for (const suite of module.children.allSuites()) count.failed += suite.errors().length;
    }
    // Red for a reason that no test shows: no test was found, or the run was cut short.
    if (reason !== "passed" && count.failed === 0) count.failed = 1;
    if (this.#count === undefined) process.once("exit", () => this.#print());
    this.#count = count;
    process.send?.({ type: "counted" });
  }

  #print() {
    const { passed, failed, skipped } = this.#count;
    // Something later than the tests may still have made the run red.
    const late = process.exitCode && failed === 0 ? 1 : 0;
    const line = `${passed} passed, ${failed + late} failed${skipped > 0 ? `, ${skipped} skipped` : ""}\n`;
    writeSync(1, line);
  }
}

/** A test that is still pending at the end was cut off, unless the whole run was only listed. */
function columnOf(state, reason) {
  if (state === "passed" || state === "failed" || state === "skipped") return state;
  return reason === "passed" ? "skipped" : "failed";
}
