// A short run of `npm run fuzz`.
import { describe, expect, it } from "vitest";
import { theDescription } from "../../packages/server/test/support/description.js";
import { problemsOf } from "./answers.js";
import { probeOf, runFuzz } from "./runFuzz.js";
import { shrink } from "./shrink.js";

describe("a service under malformed requests", () => {
  it("answers as described, logs no error, and serves a well-behaved client meanwhile", async () => {
    const { probes, finding } = await runFuzz({ seed: 5, forMs: 5_000 });
    expect(finding).toBeUndefined();
    expect(probes).toBeGreaterThan(100);
  }, 60_000);
});

describe("the fuzzer", () => {
  const whole = { pieces: [], request: { method: "GET", url: "/v1/health" } };
  const answer = (status: string, body: string) =>
    Buffer.from(`HTTP/1.1 ${status}\r\ncontent-type: application/json\r\n\r\n${body}`);

  it("sends the same bytes for the same seed, and others for another", () => {
    const of = (seed: number) => Array.from({ length: 20 }, (_, number) => probeOf(seed, number));
    expect(of(1)).toEqual(of(1));
    expect(of(1)).not.toEqual(of(2));
  });

  it("reports a 500 and an undescribed answer, and accepts a described one", () => {
    const health = '{"status":"ok","version":"1.0.0","chainId":2201}';
    const problems = [
      answer("500 Internal Server Error", "{}"),
      answer("200 OK", '{"status":"ok","more":1}'),
      answer("200 OK", health),
    ].map((received) => problemsOf(whole, received, theDescription()).length);
    expect(problems).toEqual([1, 1, 0]);
  });

  it("reduces a finding to the smallest request that shows it", async () => {
    const holds = async (pieces: readonly Buffer[]) => Buffer.concat(pieces).includes("bad");
    const pieces = [Buffer.from("good and b"), Buffer.from("ad and more")];
    expect(Buffer.concat(await shrink(pieces, holds)).toString()).toBe("bad");
  });
});
