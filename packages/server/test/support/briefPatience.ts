import { vi } from "vitest";

// Import this file before the service: readiness counts a part as unwell after a tenth of the usual time.

vi.mock(import("../../src/health/lastingState.js"), async (load) => {
  const { LastingState, ...rest } = await load();
  return {
    ...rest,
    LastingState: class extends LastingState {
      constructor(patienceMs: number) {
        super(patienceMs / 10);
      }
    },
  };
});
