import { describe, expect, it } from "vitest";
import { toRequestRefusedError } from "./frameRefusal.js";

describe("the error of a refused frame", () => {
  const refusal = { code: "RATE_LIMITED", message: "too fast", reason: "RATE_EXCEEDED" } as const;

  it("has the status and the details that the same refusal has over HTTP, and the pause that they ask for", () => {
    const details = { retry: "later", retryAfterSeconds: 2 };
    const error = toRequestRefusedError({ ...refusal, details });
    expect(error).toMatchObject({ status: 429, ...refusal, details, retryAfterMs: 2_000 });
  });

  it("asks for no pause without details, or with malformed ones", () => {
    expect(toRequestRefusedError(refusal).retryAfterMs).toBeUndefined();
    const details = { retryAfterSeconds: "2" };
    expect(toRequestRefusedError({ ...refusal, details }).retryAfterMs).toBeUndefined();
  });
});
