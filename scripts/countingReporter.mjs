import { writeSync } from "node:fs";

/**
 * Prints `N passed, N failed[, N skipped]` as the very last line, after the output of the other reporters.
 * A file that does not load, a hook that fails and an error outside of any test count as failed, so that a failing
 * run never says 0 failed.
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
    // No test failed, but the run did: no test was found, or the run was cut short.
    if (reason !== "passed" && count.failed === 0) count.failed = 1;
    if (this.#count === undefined) process.once("exit", () => this.#print());
    this.#count = count;
    process.send?.({ type: "counted" });
  }

  #print() {
    const { passed, failed, skipped } = this.#count;
    // A teardown after the tests may have set a failing exit status.
    const teardownFailures = process.exitCode && failed === 0 ? 1 : 0;
    const line = `${passed} passed, ${failed + teardownFailures} failed${skipped > 0 ? `, ${skipped} skipped` : ""}\n`;
    writeSync(1, line);
  }
}

/** A test still pending at the end was cut off, unless the run only listed the tests. */
function columnOf(state, reason) {
  if (state === "passed" || state === "failed" || state === "skipped") return state;
  return reason === "passed" ? "skipped" : "failed";
}
