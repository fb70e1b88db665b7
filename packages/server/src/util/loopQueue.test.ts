import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { LoopQueue } from "./loopQueue.js";

/** Requests that begin in one turn of the event loop, at this price. */
const PRICE = 100;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setImmediate", "setTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Enters a number of pieces of work of one party. Each adds the party's name to `begun` when it begins. */
function enterMany(loop: LoopQueue, begun: string[], party: string, count: number): void {
  for (let i = 0; i < count; i++) loop.enter(party, PRICE, () => begun.push(party));
}

/** A busy loop whose use the test sets. */
function busyLoop() {
  const use = { share: 0.9 };
  return { use, loop: new LoopQueue({ measureUse: () => use.share }) };
}

describe("work on the event loop", () => {
  it("begins at once while little comes", () => {
    const begun: string[] = [];
    enterMany(new LoopQueue(), begun, "a", 3);
    expect(begun).toEqual(["a", "a", "a"]);
  });

  it("of one party begins in the next turn, however much another party has waiting", () => {
    const loop = new LoopQueue();
    const begun: string[] = [];
    enterMany(loop, begun, "flood", 10_000);
    loop.enter("other", PRICE, () => begun.push("other"));
    const before = begun.length;
    expect(before).toBeLessThan(100);
    vi.advanceTimersToNextTimer();
    expect(begun.slice(before, before + 2)).toContain("other");
    expect(begun.length).toBeLessThan(100);
    vi.runAllTimers();
    expect(begun).toHaveLength(10_001);
    expect(loop.waiting).toBe(0);
  });

  it("is shared by what it costs, not by its number", () => {
    const loop = new LoopQueue();
    const begun: string[] = [];
    for (let i = 0; i < 20; i++) loop.enter("large", 10 * PRICE, () => begun.push("large"));
    enterMany(loop, begun, "small", 100);
    vi.runAllTimers();
    const half = begun.slice(0, begun.lastIndexOf("small"));
    expect(half.filter((party) => party === "large").length).toBeLessThan(13);
  });

  it("is charged for as long as it took", () => {
    let now = 0;
    const loop = new LoopQueue({ now: () => now });
    const begun: string[] = [];
    const slow = () => {
      begun.push("slow");
      now += 1;
    };
    for (let i = 0; i < 3; i++) loop.enter("slow", PRICE, slow);
    expect(begun).toEqual(["slow"]);
    vi.advanceTimersToNextTimer();
    expect(begun).toEqual(["slow", "slow"]);
  });

  it("begins after work that has thrown", () => {
    const loop = new LoopQueue();
    const begun: string[] = [];
    enterMany(loop, begun, "a", 10);
    loop.enter("a", PRICE, () => {
      throw new Error("a mistake");
    });
    enterMany(loop, begun, "a", 10);
    expect(() => vi.runAllTimers()).toThrow("a mistake");
    vi.runAllTimers();
    expect(begun).toHaveLength(20);
  });

  it("never begins if it was taken out", () => {
    const loop = new LoopQueue();
    const begun: string[] = [];
    enterMany(loop, begun, "a", 100);
    const leave = loop.enter("b", PRICE, () => begun.push("b"));
    leave();
    vi.runAllTimers();
    expect(begun).toEqual(Array(100).fill("a"));
  });
});

describe("a party that is refused too often", () => {
  it("waits until time has paid for it, and nobody else does", () => {
    const loop = new LoopQueue();
    for (let i = 0; i < 600; i++) loop.refuse("flood");
    const begun: string[] = [];
    enterMany(loop, begun, "flood", 5);
    enterMany(loop, begun, "other", 5);
    vi.advanceTimersByTime(500);
    expect(begun).toEqual(Array(5).fill("other"));
    vi.advanceTimersByTime(600);
    expect(begun).toHaveLength(10);
  });

  it("has nobody else wait for the pause after which it is asked for again", () => {
    const loop = new LoopQueue();
    for (let i = 0; i < 600; i++) loop.refuse("flood");
    const begun: string[] = [];
    enterMany(loop, begun, "flood", 1);
    for (let round = 1; round <= 3; round++) {
      // A turn finds nothing that may begin.
      vi.advanceTimersToNextTimer();
      enterMany(loop, begun, "other", 1);
      expect(begun).toHaveLength(round);
      vi.advanceTimersByTime(10);
    }
  });

  it("begins when it has waited, also if very many other parties come meanwhile", () => {
    const loop = new LoopQueue();
    for (let i = 0; i < 400; i++) loop.refuse("first");
    const begun: string[] = [];
    loop.enter("first", PRICE, () => begun.push("first"));
    expect(begun).toEqual([]);
    for (let i = 0; i < 50_000; i++) loop.refuse(`address ${i}`);
    vi.advanceTimersByTime(100);
    expect(begun).toEqual(["first"]);
  });
});

describe("a party that uses much of the event loop", () => {
  const flooded = () => {
    const { use, loop } = busyLoop();
    loop.charge("flood", 100_000);
    const begun: string[] = [];
    // Has run just now.
    enterMany(loop, begun, "flood", 1);
    return { use, loop, begun };
  };

  it("has to wait while the loop is busy and a party that uses little works", async () => {
    const { use, loop, begun } = flooded();
    expect(begun).toEqual(["flood"]);
    enterMany(loop, begun, "flood", 1);
    expect(begun).toEqual(["flood", "flood"]);
    void loop.run("light", PRICE, () => begun.push("light"));
    enterMany(loop, begun, "flood", 1);
    expect(begun).toEqual(["flood", "flood", "light"]);
    use.share = 0.1;
    vi.advanceTimersByTime(12);
    expect(begun).toEqual(["flood", "flood", "light", "flood"]);
  });

  it("has a turn after a while even if the loop stays busy, and not at once another one", () => {
    const { loop, begun } = flooded();
    void loop.run("light", PRICE, () => {});
    enterMany(loop, begun, "flood", 2);
    expect(begun).toHaveLength(1);
    vi.advanceTimersByTime(24);
    expect(begun).toHaveLength(2);
  });

  it("has no more of a busy loop than a fifth, however large its pieces of work are", () => {
    const { loop, begun } = flooded();
    const lightWorks = () => void loop.run("light", PRICE, () => {});
    lightWorks();
    for (let i = 0; i < 10; i++) loop.enter("flood", 100_000, () => begun.push("large"));
    for (let ms = 0; ms < 2_500; ms += 50) {
      vi.advanceTimersByTime(50);
      lightWorks();
    }
    expect(begun.filter((name) => name === "large")).toHaveLength(5);
  });

  it("leaves room for its own small requests", () => {
    const { loop, begun } = flooded();
    void loop.run("flood", PRICE, () => begun.push("small"), "small");
    enterMany(loop, begun, "flood", 1);
    expect(begun).toEqual(["flood", "small"]);
  });

  it("has its many small requests wait for nothing else of its own", () => {
    const { loop, begun } = flooded();
    loop.charge("single", 100_000, "small");
    loop.enter("single", PRICE, () => begun.push("single"), "small");
    void loop.run("single", PRICE, () => begun.push("body"));
    loop.enter("single", PRICE, () => begun.push("single"), "small");
    expect(begun).toEqual(["flood", "single", "body", "single"]);
  });

  it("has to wait for others also where its own light work was the last", () => {
    const { loop, begun } = flooded();
    void loop.run("light", PRICE, () => {});
    loop.enter("page", PRICE, () => begun.push("small"));
    loop.enter("page", 500 * PRICE, () => begun.push("large"));
    expect(begun).toEqual(["flood", "small"]);
  });

  it("has to wait for others also where the light work of both its parts was the last", () => {
    const { loop, begun } = flooded();
    void loop.run("light", PRICE, () => {});
    loop.enter("page", PRICE, () => begun.push("body"));
    loop.enter("page", PRICE, () => begun.push("small"), "small");
    loop.enter("page", 500 * PRICE, () => begun.push("large"), "small");
    expect(begun).toEqual(["flood", "body", "small"]);
  });

  it("is each key, however many addresses it has: they share what is the key's", () => {
    const { loop } = busyLoop();
    const begun: string[] = [];
    const flood = Array.from({ length: 100 }, (_, i) => `page 192.0.2.${i}`);
    // None of them uses more than a hundredth of what a secret key may.
    for (const party of flood) loop.enter(party, 3_000, () => {});
    vi.runAllTimers();
    void loop.run("secret", PRICE, () => begun.push("secret"));
    for (const party of flood) loop.enter(party, PRICE, () => begun.push("page"));
    void loop.run("secret", PRICE, () => begun.push("secret"));
    vi.advanceTimersToNextTimer();
    expect(begun).toEqual(["secret", "secret"]);
  });

  it("is one whose single piece of work is more than its share, before it has used anything", () => {
    const { loop } = busyLoop();
    const begun: string[] = [];
    for (let i = 0; i < 200; i++) loop.charge(`page 192.0.2.${i}`, 1_000);
    void loop.run("page 203.0.113.1", PRICE, () => begun.push("light"));
    loop.enter("page 203.0.113.2", 30 * PRICE, () => begun.push("first of large"));
    for (let i = 3; i < 100; i++) loop.enter(`page 203.0.113.${i}`, 30 * PRICE, () => begun.push("large"));
    void loop.run("page 203.0.113.1", PRICE, () => begun.push("light"));
    vi.advanceTimersToNextTimer();
    expect(begun).toEqual(["light", "first of large", "light"]);
  });

  it("is each address of a key beside one that uses little", () => {
    const { loop } = busyLoop();
    const begun: string[] = [];
    for (let i = 0; i < 20; i++) loop.charge("page 192.0.2.1", 10_000);
    loop.enter("page 192.0.2.1", PRICE, () => {});
    void loop.run("page 192.0.2.2", PRICE, () => begun.push("light"));
    loop.enter("page 192.0.2.1", PRICE, () => begun.push("heavy"));
    void loop.run("page 192.0.2.2", PRICE, () => begun.push("light"));
    expect(begun).toEqual(["light", "light"]);
  });

  it("is one that uses three tenths of the loop all the time, although its key may use half", () => {
    const { loop } = busyLoop();
    const begun: string[] = [];
    for (let i = 0; i < 100; i++) {
      vi.advanceTimersByTime(50);
      loop.charge("page 192.0.2.1", 15_000);
    }
    void loop.run("page 192.0.2.2", PRICE, () => begun.push("light"));
    loop.enter("page 192.0.2.1", PRICE, () => {});
    loop.enter("page 192.0.2.1", PRICE, () => begun.push("heavy"));
    void loop.run("page 192.0.2.2", PRICE, () => begun.push("light"));
    expect(begun).toEqual(["light", "light"]);
  });

  it("counts as one that uses little again a second after a flood, however long that was", () => {
    const { loop, begun } = flooded();
    for (let second = 0; second < 60; second++) {
      vi.advanceTimersByTime(1_000);
      loop.charge("flood", 900_000);
    }
    vi.advanceTimersByTime(1_000);
    loop.charge("other flood", 100_000);
    enterMany(loop, begun, "other flood", 1);
    void loop.run("light", PRICE, () => {});
    enterMany(loop, begun, "flood", 1);
    enterMany(loop, begun, "other flood", 1);
    expect(begun).toEqual(["flood", "other flood", "flood"]);
  });
});
