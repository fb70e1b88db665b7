import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { GAS_WAIVER } from "./support/program.js";
import { filesOfStackTrace } from "./support/stackTrace.js";

it("the stack trace of an unexpected error names sources that are there", async () => {
  const files = await filesOfStackTrace(GAS_WAIVER);
  const ours = files.filter((file) => !file.endsWith("/bin/gas-waiver.mjs"));
  expect(ours.length).toBeGreaterThan(2);
  expect(ours.filter((file) => !/\/packages\/cli\/src\/.*\.ts$/.test(file) || !existsSync(file))).toEqual([]);
});
