import { describe, expect, it } from "vitest";
import { acceptsGzip } from "../routes/submissions.js";

describe("acceptsGzip", () => {
  it.each(["gzip", "deflate, gzip;q=0.5, br", "GZIP ; q=1", "x-gzip"])("is true for %s", (value) => {
    expect(acceptsGzip(value)).toBe(true);
  });

  it.each([undefined, "", "identity", "*", "gzip;q=0", "gzip; q=0.000", "gzip;q=x", "br, gzipped"])(
    "is false for %s",
    (value) => {
      expect(acceptsGzip(value)).toBe(false);
    },
  );
});
