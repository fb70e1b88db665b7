// The process that `npm run mutate` runs tests in: `node mutationTests.mjs FILE TEST…`. It stays warm between the runs.
// For each message, a text of FILE, it runs the tests as if FILE had that text, and answers whether all pass.
import { relative } from "node:path";
import { createVitest } from "vitest/node";
import { root } from "./setup.mjs";

const [file, ...tests] = process.argv.slice(2);
let text = "";

const vitest = await createVitest(
  "test",
  // Threads end with this process, even in a loop without an end.
  { config: false, root, watch: false, bail: 1, maxWorkers: 1, pool: "threads", reporters: [{}] },
  {
    logLevel: "silent",
    resolve: { conditions: ["source"] },
    ssr: { resolve: { conditions: ["source", "node"] } },
    plugins: [{ name: "mutant", enforce: "pre", load: (id) => (id === file ? text : undefined) }],
    test: { include: ["**/*.test.ts"], setupFiles: ["./scripts/nativeCrypto.mjs"] },
  },
);
const specifications = await vitest.globTestSpecifications(tests.map((test) => relative(root, test)));

process.on("message", async (next) => {
  text = next;
  vitest.invalidateFile(file);
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications);
  const passed = testModules.length === tests.length && testModules.every((module) => module.ok());
  process.send(passed && unhandledErrors.length === 0);
});
