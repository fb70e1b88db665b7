// News between replicas: no polling is behind these tests, so that what they hear was told.
import { randomUUID } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { afterEach, describe, expect, it } from "vitest";
import { silent } from "../../test/support/testPostgres.js";
import { useTestStore } from "../../test/support/testStore.js";
import type { Store } from "../store/store.js";
import { openReplicaNotifications, type ReplicaNotifications } from "./replicaNotifications.js";
import type { SubmissionUpdate } from "./results.js";

let store: Store;
useTestStore("perTest", (opened) => {
  store = opened;
});
const open: ReplicaNotifications[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((notices) => notices.close()));
});

/** Tells, by the replica's name, that it was told of API keys. */
const keyNews = new EventEmitter();

type News = readonly [id: string, notice: SubmissionUpdate] | "work";

/** A replica that collects what it hears. */
async function replica() {
  const name = randomUUID();
  const heard: News[] = [];
  let told: () => void = () => {};
  const hear = (news: News) => {
    heard.push(news);
    told();
  };
  const notices = openReplicaNotifications({
    store,
    log: silent,
    replica: name,
    onResult: (id, notice) => hear([id, notice]),
    onWork: () => hear("work"),
    onKeysChanged: () => keyNews.emit(name),
  });
  open.push(notices);
  const until = async (count: number) => {
    while (heard.length < count) await new Promise<void>((resolve) => (told = resolve));
    return heard;
  };
  await listening(name);
  return { name, notices, heard, until };
}

/** Resolves when a connection listens for the replica, other than those of before: then nothing told is lost. */
async function listening(name: string, but: readonly number[] = []): Promise<number> {
  for (;;) {
    const { rows } = await store.pool.query<{ pid: number }>(
      "select pid from pg_stat_activity where query like 'listen %' || $1 and state = 'idle'",
      [name.replaceAll("-", "")],
    );
    const pid = rows.map((row) => row.pid).find((found) => !but.includes(found));
    if (pid !== undefined) return pid;
  }
}

const failed = (message: string): SubmissionUpdate => ({ state: "failed", reason: "NODE_REFUSED", message });

describe("news between replicas", () => {
  it("reach the one they are for, and no other", async () => {
    const [first, second, third] = [await replica(), await replica(), await replica()];
    const notice: SubmissionUpdate = { state: "included", reverted: true };
    first.notices.notifyResults([{ origin: second.name, id: "a", notice }]);
    // Two statements may overtake each other.
    expect(await second.until(1)).toEqual([["a", notice]]);
    first.notices.announceWork([second.name, second.name]);
    expect(await second.until(2)).toEqual([["a", notice], "work"]);
    second.notices.announceWork([third.name]);
    expect(await third.until(1)).toEqual(["work"]);
    expect(first.heard).toEqual([]);
  });

  it("are not told to oneself: those were there already", async () => {
    const [first, second] = [await replica(), await replica()];
    first.notices.announceWork([first.name]);
    first.notices.notifyResults([{ origin: first.name, id: "a", notice: { state: "broadcast" } }]);
    second.notices.announceWork([first.name]);
    expect(await first.until(1)).toEqual(["work"]);
  });

  it("of a thousand submissions come complete and in order", async () => {
    const [first, second] = [await replica(), await replica()];
    const ids = Array.from({ length: 1_000 }, () => randomUUID());
    first.notices.notifyResults(
      ids.map((id) => ({ origin: second.name, id, notice: failed("no ".repeat(50)) })),
    );
    expect((await second.until(1_000)).map(([id]) => id)).toEqual(ids);
  });

  it.each([
    ["long", "x".repeat(100_000)],
    ["long in other scripts", "水".repeat(100_000)],
    ["all escapes", "\u0001".repeat(100_000)],
    ["quotes and a NUL", `'"\\\u0000`],
  ])("have a message that is %s", async (_, message) => {
    const [first, second] = [await replica(), await replica()];
    first.notices.notifyResults([
      { origin: second.name, id: "a", notice: failed(message) },
      { origin: second.name, id: "b", notice: failed(message) },
    ]);
    const heard = await second.until(2);
    expect(heard.map(([id]) => id)).toEqual(["a", "b"]);
    const [, notice] = heard[0] ?? [];
    if (typeof notice !== "object" || notice.state !== "failed") throw new Error("it came as something else");
    expect(message.startsWith(notice.message)).toBe(true);
  });

  it("are heard again after the connection was lost", async () => {
    const [first, second] = [await replica(), await replica()];
    const lost = await listening(second.name);
    await store.pool.query("select pg_terminate_backend($1)", [lost]);
    await listening(second.name, [lost]);
    first.notices.announceWork([second.name]);
    expect(await second.until(1)).toEqual(["work"]);
  });

  it("may be sent to a replica that is gone", async () => {
    const [first, second] = [await replica(), await replica()];
    first.notices.announceWork([randomUUID()]);
    first.notices.announceWork([second.name]);
    expect(await second.until(1)).toEqual(["work"]);
  });

  it("of API keys reach every replica, from whoever is at the database", async () => {
    const both = [await replica(), await replica()];
    const told = both.map(({ name }) => once(keyNews, name));
    await store.pool.query("select pg_notify('gas_waiver_keys', '')");
    await Promise.all(told);
  });

  it("end at once, also when it has hardly begun", async () => {
    const options = { store, log: silent, onResult: () => {}, onWork: () => {}, onKeysChanged: () => {} };
    await openReplicaNotifications({ ...options, replica: randomUUID() }).close();
  });
});
