// Ends the programs that the tests of a file have left running, and removes their folders. Vitest runs this file before
// each file of tests, also in a process that several files share.
import timers from "node:timers";
import { afterAll, expect } from "vitest";
import { removeFreshFolders } from "./freshFolder.js";
import { RunningProgram } from "./runningProgram.js";

const globals = names();
afterAll(async () => {
  await Promise.all([...RunningProgram.running].map((program) => program.abandon()));
  removeFreshFolders();
  // Libraries look for such names to learn where they run: a `window` left behind breaks tests of other files.
  expect(names().filter((name) => !globals.includes(name))).toEqual([]);
  // A clock that stands still lets tests of other files wait for ever.
  expect(setTimeout).toBe(timers.setTimeout);
});

/** The names of the process's global variables, without those that libraries mark as theirs. */
function names(): string[] {
  return Object.getOwnPropertyNames(globalThis).filter((name) => !name.startsWith("__"));
}
