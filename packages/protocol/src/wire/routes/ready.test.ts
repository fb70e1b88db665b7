import { describe, expect, it } from "vitest";
import { WireError } from "../wireError.js";
import { parseReadiness } from "./ready.js";

describe("a readiness", () => {
  const good = { store: { ok: true }, chain: { ok: false, message: "m" }, waivers: { ok: true, usable: 1 } };

  it("reads back, also with the part that is present during a shutdown", () => {
    for (const parts of [good, { ...good, service: { ok: false } }]) {
      const body = { ready: false, parts };
      expect(parseReadiness(JSON.parse(JSON.stringify(body)))).toEqual(body);
    }
  });

  it.each([null, {}, { ready: true }, { ready: true, parts: {} }, { ready: 1, parts: good }])(
    "is not %j",
    (body) => {
      expect(() => parseReadiness(body)).toThrow(WireError);
    },
  );
});
