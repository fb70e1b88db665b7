import { describe, expect, it } from "vitest";
import { wasNeverSent } from "./networkErrors.js";

const failing = (code: string) => Object.assign(new Error(code), { code });

describe("wasNeverSent", () => {
  it.each([
    "ECONNREFUSED",
    "ENOTFOUND",
    "EAI_AGAIN",
    "EHOSTUNREACH",
    "ENETUNREACH",
    "UND_ERR_CONNECT_TIMEOUT",
  ])("is true where no connection was made: %s", (code) => {
    expect(wasNeverSent(failing(code))).toBe(true);
    expect(wasNeverSent(new TypeError("fetch failed", { cause: failing(code) }))).toBe(true);
  });

  it.each(["ECONNRESET", "EPIPE", "ETIMEDOUT", "UND_ERR_SOCKET"])(
    "is false after %s, which may come after the request was sent",
    (code) => {
      expect(wasNeverSent(failing(code))).toBe(false);
    },
  );

  it("is false for a value that is not an error", () => {
    expect(wasNeverSent("ECONNREFUSED")).toBe(false);
    expect(wasNeverSent(undefined)).toBe(false);
  });
});
