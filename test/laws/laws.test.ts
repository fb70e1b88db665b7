import { expect, test } from "vitest";
import { LAWS } from "./index.js";

// `LAWS_SEED=7 npx vitest run test/laws` repeats a run; a failure prints its seed.
const given = process.env.LAWS_SEED;
const seed = given === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(given);

const cases = (recovers: boolean) =>
  LAWS.filter((law) => law.recovers === recovers).reduce((sum, law) => sum + law.cases, 0);

test("the laws have at least 2,000 cases with recovery and 50,000 without", () => {
  expect(cases(true)).toBeGreaterThanOrEqual(2_000);
  expect(cases(false)).toBeGreaterThanOrEqual(50_000);
});

for (const law of LAWS) {
  test(law.name, { timeout: 120_000 }, async () => {
    const outcome = await law.check({ seed, cases: law.cases });
    // Vitest prints a thrown error more readably than a comparison of long texts.
    if (outcome.failure !== undefined) throw new Error(outcome.failure);
    expect(outcome.cases).toBe(law.cases);
  });
}
