import { describe, expect, it } from "vitest";
import { type WorkOwner, WorkQueue } from "./workQueue.js";

/** Makes a task that the test ends. */
function taskOf(log: string[], name: string) {
  let end: () => void = () => {};
  const ended = new Promise<void>((resolve) => (end = resolve));
  return {
    end,
    run: async () => {
      log.push(name);
      await ended;
      return name;
    },
  };
}

describe("a queue for work elsewhere", () => {
  it("runs a number of tasks at once, and the others in their order, also after a failure", async () => {
    const log: string[] = [];
    const queue = new WorkQueue({ places: 2, waiting: 10 });
    const tasks = ["a", "b", "c", "d"].map((name) => taskOf(log, name));
    const failing = queue.run(() => Promise.reject(new Error("no")));
    await expect(failing).rejects.toThrow("no");
    const running = tasks.map(({ run }) => queue.run(run));
    expect(log).toEqual(["a", "b"]);
    tasks[1]?.end();
    await running[1];
    expect(log).toEqual(["a", "b", "c"]);
    for (const { end } of tasks) end();
    expect(await Promise.all(running)).toEqual(["a", "b", "c", "d"]);
  });

  it("leaves places free for newcomers while a few parties have long work, and gives them to who waits", async () => {
    const log: string[] = [];
    const queue = new WorkQueue({ places: 64, placesOfParty: 16, waiting: 1_000 });
    const parties = ["a", "b", "c", "d", "e"];
    const tasks = parties.flatMap((party) =>
      Array.from({ length: 20 }, () => ({ party, ...taskOf(log, party) })),
    );
    const running = tasks.map(({ party, run }) => queue.run(run, { party }));
    const placesOf = (name: string) => log.filter((one) => one === name).length;
    expect(parties.map(placesOf)).toEqual([16, 16, 16, 8, 4]);
    const newcomer = taskOf(log, "newcomer");
    running.push(queue.run(newcomer.run, { party: "newcomer" }));
    expect(placesOf("newcomer")).toBe(1);
    for (const { end } of [...tasks, newcomer]) end();
    await Promise.all(running);
    expect(log).toHaveLength(101);
  });

  it("leaves places and room to wait outside of a whole, whatever its many parties ask for", async () => {
    const log: string[] = [];
    const queue = new WorkQueue({ places: 96, placesOfParty: 16, waiting: 400, waitingOfParty: 100 });
    const tasks: ReturnType<typeof taskOf>[] = [];
    const ask = async (name: string, owner: WorkOwner) => {
      const task = taskOf(log, name);
      tasks.push(task);
      return await queue.run(task.run, owner);
    };
    const of = (key: string, address: string) => ({ within: ["public", key], party: address });
    // 32 of 96 places, and a third of the room to wait.
    const flood = Array.from({ length: 32 + 134 }, (_, i) => ask("flood", of("flooded", `address ${i}`)));
    await expect(ask("flood", of("flooded", "another address"))).rejects.toThrow("wait already");
    expect([log.length, queue.waiting]).toEqual([32, 134]);
    const others = [ask("address", of("other", "address 1")), ask("secret", { party: "secret" })];
    expect(log.slice(32)).toEqual(["address", "secret"]);
    // Each key of the whole has its turn among those that wait.
    others.push(...Array.from({ length: 20 }, () => ask("other", of("other", "address 2"))));
    const before = log.length;
    tasks[0]?.end();
    await flood[0];
    expect(log.slice(before)).toEqual(["other"]);
    for (const { end } of tasks) end();
    await Promise.all([...flood, ...others]);
  });

  it("gives each party its turn, and bounds the waiting tasks of one party", async () => {
    const log: string[] = [];
    const queue = new WorkQueue({ places: 1, waiting: 4, waitingOfParty: 3 });
    const tasks = ["a1", "a2", "a3", "a4", "b1"].map((name) => taskOf(log, name));
    const running = tasks.map(({ run }, i) => queue.run(run, { party: i < 4 ? "a" : "b" }));
    await expect(queue.run(async () => "a5", { party: "a" })).rejects.toThrow("wait already");
    await expect(queue.run(async () => "c1", { party: "c" })).rejects.toThrow("wait already");
    for (const { end } of tasks) end();
    await Promise.all(running);
    expect(log).toEqual(["a1", "a2", "b1", "a3", "a4"]);
    expect(await queue.run(async () => "a6", { party: "a" })).toBe("a6");
  });

  it("bounds what waits of a part of a party, where it must leave room", async () => {
    const log: string[] = [];
    const queue = new WorkQueue({ places: 1, waitingOfParty: 3 });
    const owner = { party: "key", part: "address", waitingOfPart: 1 };
    const [first, ...tasks] = [taskOf(log, "a1"), taskOf(log, "a2"), taskOf(log, "b1")];
    const running = [queue.run(first.run, owner)];
    for (const [i, { run }] of tasks.entries())
      running.push(queue.run(run, i === 0 ? owner : { ...owner, part: "other" }));
    await expect(queue.run(async () => "a3", owner)).rejects.toThrow("wait already");
    first.end();
    for (const { end } of tasks) end();
    expect(await Promise.all(running)).toEqual(["a1", "a2", "b1"]);
  });

  it("refuses a task at once when there is no room to wait", async () => {
    const log: string[] = [];
    const queue = new WorkQueue({ places: 1, waiting: 1 });
    const [first, second] = [taskOf(log, "first"), taskOf(log, "second")];
    const running = [queue.run(first.run), queue.run(second.run)];
    await expect(queue.run(async () => "third")).rejects.toThrow("wait already");
    first.end();
    second.end();
    await Promise.all(running);
    expect(await queue.run(async () => "fourth")).toBe("fourth");
  });
});
