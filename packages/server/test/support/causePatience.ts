import { vi } from "vitest";

// Import this file before the service: lines and records wait for the cause of a revert as long as a test says.

export const causePatience = { ms: 60_000 };

vi.mock(import("../../src/lane/law/revertCauses.js"), async (load) => {
  const revertCauses = await load();
  return {
    ...revertCauses,
    createRevertCauses: (dependencies) =>
      revertCauses.createRevertCauses({ ...dependencies, patienceMs: () => causePatience.ms }),
  };
});
