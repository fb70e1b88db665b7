// The process that `npm run mutate` runs tests in: `node mutationTests.mjs FILE TEST…`. It stays warm between the runs.
// Each message is a text of FILE with a limit of processor time. The answer tells whether the tests pass on that text.
import { relative } from "node:path";
import { createVitest } from "vitest/node";
import { root } from "./setup.mjs";
import { SOURCES } from "./sources.mjs";

const [file, ...tests] = process.argv.slice(2);
let text = "";

const vitest = await createVitest(
  "test",
  { config: false, root, watch: false, bail: 1, maxWorkers: 1, pool: "threads", reporters: [{}] },
  {
    logLevel: "silent",
    resolve: { alias: SOURCES },
    ssr: { resolve: { conditions: ["node"] } },
    plugins: [{ name: "mutant", enforce: "pre", load: (id) => (id === file ? text : undefined) }],
    test: {
      include: ["**/*.test.ts"],
      setupFiles: ["./scripts/nativeCrypto.mjs"],
      testTimeout: 60_000,
      hookTimeout: 120_000,
    },
  },
);
const specifications = await vitest.globTestSpecifications(tests.map((test) => relative(root, test)));

const cpuMs = (since) => {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1_000;
};

process.on("message", async ({ text: next, limitMs }) => {
  text = next;
  vitest.invalidateFile(file);
  const begun = process.cpuUsage();
  // A loop without an end holds its thread, and not this one. It takes processor time, however busy the machine is.
  const watch = setInterval(() => cpuMs(begun) > limitMs && process.kill(process.pid, "SIGKILL"), 200);
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications);
  clearInterval(watch);
  const passed = testModules.length === tests.length && testModules.every((module) => module.ok());
  process.send({ passed: passed && unhandledErrors.length === 0, cpuMs: cpuMs(begun) });
});
