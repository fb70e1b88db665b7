import { defineConfig } from "vitest/config";

export default defineConfig({
  // Tests run against the sources: every package exports them under the "source" condition.
  resolve: { conditions: ["source"] },
  // No more conditions than these: they reach Node as well, where "import" would turn a require into an ES module.
  ssr: { resolve: { conditions: ["source", "node"] } },
  test: {
    include: ["packages/*/{src,test}/**/*.test.ts", "test/**/*.test.ts"],
    environment: "node",
    // The tests use the cryptography of the programs: libsecp256k1, not the slower pure JavaScript.
    setupFiles: ["./scripts/nativeCrypto.mjs"],
    // One more than the default on two cores: much of the time is waiting for other processes.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    reporters: ["default", "./scripts/countingReporter.mjs"],
  },
});
