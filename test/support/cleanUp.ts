// Ends the programs that the tests of a file have left running, and removes their folders. Vitest runs this file before
// each file of tests, also in a process that several files share.
import { afterAll } from "vitest";
import { removeFreshFolders } from "./freshFolder.js";
import { RunningProgram } from "./runningProgram.js";

afterAll(async () => {
  await Promise.all([...RunningProgram.running].map((program) => program.abandon()));
  removeFreshFolders();
});
