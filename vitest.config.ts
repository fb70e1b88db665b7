import { defineConfig } from "vitest/config";
import LongestFirst from "./scripts/longestFirst.mjs";
import { SOURCES } from "./scripts/sources.mjs";

/** Tests that change nothing of their process that they do not restore, and replace no module. */
const SHARED = ["packages/*/{src,test}/**/*.test.ts", "test/**/*.test.ts"];
/** The others; two move the process's clocks by hours, and ids of UUID version 7 never go back. */
const OWN = [
  "packages/server/test/lanes/{halt,operationalFaults}.test.ts",
  "packages/server/test/custody/*.test.ts",
];
/** Tests of the lane, the gateway and the check of nodes that run once more on a chain like the public one. CONTRIBUTING.md has a command for the others. */
const PUBLIC_CHAIN = [
  "packages/server/src/preflight/preflight.test.ts",
  "packages/server/test/lanes/evidence.test.ts",
  "test/gatewayConformance.test.ts",
];
const NEVER = ["**/node_modules/**"];

export default defineConfig({
  resolve: { alias: SOURCES },
  // No more conditions than these: they reach Node as well, where "import" would turn a require into an ES module.
  ssr: { resolve: { conditions: ["node"] } },
  test: {
    projects: [
      // A process of its own for each file costs a third of a second, for loading the same modules again.
      {
        extends: true,
        test: { name: "shared process", include: SHARED, exclude: [...OWN, ...NEVER], isolate: false },
      },
      { extends: true, test: { name: "own process", include: OWN, exclude: NEVER } },
      {
        extends: true,
        test: {
          ...{ name: "public chain", include: PUBLIC_CHAIN, exclude: NEVER, isolate: false },
          env: { CHAIN_PROFILE: "stable" },
        },
      },
    ],
    environment: "node",
    // Amazon's SDK otherwise leaves a name of its own in the process.
    env: { AWS_LAMBDA_NODEJS_NO_GLOBAL_AWSLAMBDA: "true" },
    globalSetup: ["./scripts/testRun.mjs"],
    // The tests use the cryptography of the programs: libsecp256k1, not the slower pure JavaScript.
    setupFiles: ["./scripts/nativeCrypto.mjs", "./test/support/cleanUp.ts"],
    sequence: { sequencer: LongestFirst },
    // Two more than the default on two cores: much of the time is waiting for other processes.
    maxWorkers: 3,
    testTimeout: 240_000,
    hookTimeout: 240_000,
    reporters: ["default", "./scripts/countingReporter.mjs"],
  },
});
