import { describe, expect, it } from "vitest";
import { deferred } from "../../../test/support/deferred.js";
import { PRICES } from "../../model/prices.js";
import { RateRefusal } from "./rates.js";
import { createReadLimiter, MAX_WAITING_READS_PER_KEY } from "./readLimiter.js";

const [KEY, OTHER] = [{ keyId: "a" }, { keyId: "b" }];

function limiterOf(readRatePerSecond: number, readBurst: number) {
  let waiting = () => 0;
  const metrics = {
    countWaitingReads: (count: () => number) => {
      waiting = count;
    },
  };
  const charged: [string, number][] = [];
  const loop = { charge: (party: string, price: number) => void charged.push([party, price]) };
  const options = { readRatePerSecond, readBurst };
  const reads = createReadLimiter({ options, metrics, loop, now: () => 0 });
  return { reads, charged, waiting: () => waiting() };
}

describe("the reads of a key", () => {
  it("have a rate: pages cost more, a page above the burst is possible, and other keys are not affected", async () => {
    const { reads } = limiterOf(1, 10);
    const read = async () => "read";
    expect(await reads.read(KEY, 1_000, read)).toBe("read");
    await expect(reads.read(KEY, 1, read)).rejects.toThrow(RateRefusal);
    await expect(reads.read(KEY, 1, read)).rejects.toThrow(
      "the key's rate of 1 reads a second (burst 10) is used up: 1 asked, 0 left",
    );
    expect(() => reads.count(KEY, 1)).toThrow(RateRefusal);
    for (let i = 0; i < 5; i++) expect(await reads.read(OTHER, 20, read)).toBe("read");
    await expect(reads.read(OTHER, 1, read)).rejects.toThrow(RateRefusal);
  });

  it("are charged for the queries of the store", async () => {
    const { reads, charged } = limiterOf(1_000, 1_000);
    await reads.read({ keyId: "page", address: "192.0.2.1" }, 1, async () => {});
    await reads.readOn(KEY, async () => {}, 2);
    reads.count(KEY, 1);
    expect(charged).toEqual([
      ["page 192.0.2.1", PRICES.read],
      ["a", 2 * PRICES.read],
    ]);
  });

  it("run one at a time, wait up to a number, and are refused early beyond it, while another key reads", async () => {
    const { reads, waiting } = limiterOf(1_000, 1_000);
    const first = deferred();
    let running = 0;
    const slow = () => {
      running++;
      return first.promise;
    };
    const all = Array.from({ length: 1 + MAX_WAITING_READS_PER_KEY }, () => reads.read(KEY, 1, slow));
    expect([running, waiting()]).toEqual([1, MAX_WAITING_READS_PER_KEY]);
    await expect(reads.read(KEY, 1, slow)).rejects.toMatchObject({ reason: "QUEUE_AT_CAPACITY" });
    expect(await reads.read(OTHER, 1, async () => "other")).toBe("other");
    first.resolve();
    expect(await Promise.all(all)).toEqual(all.map(() => undefined));
    expect(waiting()).toBe(0);
  });
});
