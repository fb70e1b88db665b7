// A short run of what `npm run fuzz` does for as long as one likes.
import { describe, expect, it } from "vitest";
import { theDescription } from "../../packages/server/test/support/description.js";
import { problemsOf } from "./answers.js";
import { probeOf, runFuzz } from "./runFuzz.js";
import { smallest } from "./smallest.js";

describe("a service that is sent anything", () => {
  it("answers as described, logs no error, and serves a good client all the while", async () => {
    const { probes, finding } = await runFuzz({ seed: 5, forMs: 5_000 });
    expect(finding).toBeUndefined();
    expect(probes).toBeGreaterThan(100);
  }, 60_000);
});

describe("the fuzz", () => {
  const whole = { pieces: [], asked: { method: "GET", url: "/v1/health" } };
  const answer = (status: string, body: string) =>
    Buffer.from(`HTTP/1.1 ${status}\r\ncontent-type: application/json\r\n\r\n${body}`);

  it("sends the same for the same seed, and other things for another", () => {
    const of = (seed: number) => Array.from({ length: 20 }, (_, number) => probeOf(seed, number));
    expect(of(1)).toEqual(of(1));
    expect(of(1)).not.toEqual(of(2));
  });

  it("sees a 500, an answer that is not described, and nothing in a good one", () => {
    const health = '{"status":"ok","version":"1.0.0","chainId":2201}';
    const problems = [
      answer("500 Internal Server Error", "{}"),
      answer("200 OK", '{"status":"ok","more":1}'),
      answer("200 OK", health),
    ].map((received) => problemsOf(whole, received, theDescription()).length);
    expect(problems).toEqual([1, 1, 0]);
  });

  it("makes what it found as small as it goes", async () => {
    const holds = async (pieces: readonly Buffer[]) => Buffer.concat(pieces).includes("bad");
    const pieces = [Buffer.from("good and b"), Buffer.from("ad and more")];
    expect(Buffer.concat(await smallest(pieces, holds)).toString()).toBe("bad");
  });
});
