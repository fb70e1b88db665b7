import { defineConfig } from "vitest/config";

export default defineConfig({
  // Tests run against the sources: every package exports them under the "source" condition.
  resolve: { conditions: ["source"] },
  ssr: { resolve: { conditions: ["source", "node", "import", "module", "default"] } },
  test: {
    include: ["packages/*/src/**/*.test.ts", "test/**/*.test.ts"],
    environment: "node",
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ["default", "./scripts/countingReporter.mjs"],
  },
});
