// Nothing polls the store here, so whatever a replica hears came by a notification.
import { randomUUID } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { bytesToHex } from "@gas-waiver/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { bytes } from "../../test/support/submissions.js";
import { silent } from "../../test/support/testPostgres.js";
import { useTestStore } from "../../test/support/testStore.js";
import { requestReload } from "../store/lanes/replicas.js";
import type { Store } from "../store/store.js";
import { openReplicaNotifications, type ReplicaNotifications } from "./replicaNotifications.js";
import type { SubmissionUpdate } from "./results.js";

let store: Store;
useTestStore("emptied", (opened) => {
  store = opened;
});
const open: ReplicaNotifications[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((notifications) => notifications.close()));
});

/** Emits a replica's name when the replica is notified of changed API keys. */
const keyChanges = new EventEmitter();
const reloads = new EventEmitter();

type Received = readonly [id: string, update: SubmissionUpdate] | Work;
/** Lanes have work: those of the waivers, or any if undefined. */
interface Work {
  readonly lanes: readonly string[] | undefined;
}
const idOf = (one: Received) => ("lanes" in one ? undefined : one[0]);
const updateOf = (one: Received | undefined) => (!one || "lanes" in one ? undefined : one[1]);

const WAIVERS = Array.from({ length: 120 }, (_, i) => bytes(20, i));
/** Names the lane of the numbered waiver, which a replica owns. */
const laneOf = (owner: string, i = 0) => ({ waiver: WAIVERS[i] as Uint8Array, owner });
const workFor = (...numbers: number[]): Work => ({
  lanes: numbers.map((i) => bytesToHex(WAIVERS[i] as Uint8Array)),
});

/** A replica that collects the notifications that it receives. */
async function replica() {
  const name = randomUUID();
  const received: Received[] = [];
  let onReceived: () => void = () => {};
  const receive = (notification: Received) => {
    received.push(notification);
    onReceived();
  };
  const notifications = openReplicaNotifications({
    store,
    log: silent,
    replica: name,
  });
  open.push(notifications);
  notifications.listen({
    onResult: (id, update) => receive([id, update]),
    onWork: (waivers) => receive({ lanes: waivers?.map(bytesToHex) }),
    onKeysChanged: () => keyChanges.emit(name),
    onReloadRequested: () => reloads.emit(name),
  });
  const until = async (count: number) => {
    while (received.length < count) await new Promise<void>((resolve) => (onReceived = resolve));
    return received;
  };
  await listening(name);
  return { name, notifications, received, until };
}

/** Resolves when a connection that is not in `except` listens for the replica: from then on no notification is lost. */
async function listening(name: string, except: readonly number[] = []): Promise<number> {
  for (;;) {
    const { rows } = await store.pool.query<{ pid: number }>(
      "select pid from pg_stat_activity where query like 'listen %' || $1 and state = 'idle'",
      [name.replaceAll("-", "")],
    );
    const pid = rows.map((row) => row.pid).find((found) => !except.includes(found));
    if (pid !== undefined) return pid;
  }
}

const failed = (message: string): SubmissionUpdate => ({ state: "failed", reason: "NODE_REFUSED", message });

describe("notifications between replicas", () => {
  it("reach the replica that they are for, and no other", async () => {
    const [first, second, third] = [await replica(), await replica(), await replica()];
    const update: SubmissionUpdate = { state: "included", reverted: true };
    first.notifications.notifyResults([{ origin: second.name, id: "a", update }]);
    // Two statements on different connections may overtake each other.
    expect(await second.until(1)).toEqual([["a", update]]);
    first.notifications.announceWork([laneOf(second.name, 7), laneOf(second.name, 7)]);
    expect(await second.until(2)).toEqual([["a", update], workFor(7)]);
    second.notifications.announceWork([laneOf(third.name)]);
    expect(await third.until(1)).toEqual([workFor(0)]);
    expect(first.received).toEqual([]);
  });

  it("are not sent to the sender itself, which has acted on the change already", async () => {
    const [first, second] = [await replica(), await replica()];
    first.notifications.announceWork([laneOf(first.name, 1)]);
    first.notifications.notifyResults([{ origin: first.name, id: "a", update: { state: "broadcast" } }]);
    second.notifications.announceWork([laneOf(first.name, 2)]);
    expect(await first.until(1)).toEqual([workFor(2)]);
  });

  it("name the lanes that have work, up to a hundred; more are as good as all", async () => {
    const [first, second] = [await replica(), await replica()];
    const lanes = WAIVERS.map((_, i) => laneOf(second.name, i));
    first.notifications.announceWork(lanes.slice(0, 100));
    const named = workFor(...lanes.slice(0, 100).keys());
    expect(await second.until(1)).toEqual([named]);
    first.notifications.announceWork(lanes);
    expect(await second.until(2)).toEqual([named, { lanes: undefined }]);
  });

  it("of a thousand submissions arrive complete and in order", async () => {
    const [first, second] = [await replica(), await replica()];
    const ids = Array.from({ length: 1_000 }, () => randomUUID());
    first.notifications.notifyResults(
      ids.map((id) => ({ origin: second.name, id, update: failed("no ".repeat(50)) })),
    );
    expect((await second.until(1_000)).map(idOf)).toEqual(ids);
  });

  it.each([
    ["long", "x".repeat(100_000)],
    ["long in other scripts", "水".repeat(100_000)],
    ["all escapes", "\u0001".repeat(100_000)],
    ["quotes and a NUL", `'"\\\u0000`],
  ])("carry the first thousand characters of a message that is %s", async (_, message) => {
    const [first, second] = [await replica(), await replica()];
    first.notifications.notifyResults([
      { origin: second.name, id: "a", update: failed(message) },
      { origin: second.name, id: "b", update: failed(message) },
    ]);
    const received = await second.until(2);
    expect(received.map(idOf)).toEqual(["a", "b"]);
    const update = updateOf(received[0]);
    if (update?.state !== "failed") throw new Error("the update changed its kind");
    expect(update.message).toBe(message.slice(0, 1_000));
  });

  it("arrive again after the connection was lost", async () => {
    const [first, second] = [await replica(), await replica()];
    const lost = await listening(second.name);
    await store.pool.query("select pg_terminate_backend($1)", [lost]);
    await listening(second.name, [lost]);
    first.notifications.announceWork([laneOf(second.name)]);
    expect(await second.until(1)).toEqual([workFor(0)]);
  });

  it("may be sent to a replica that is gone", async () => {
    const [first, second] = [await replica(), await replica()];
    first.notifications.announceWork([laneOf(randomUUID())]);
    first.notifications.announceWork([laneOf(second.name)]);
    expect(await second.until(1)).toEqual([workFor(0)]);
  });

  it("of API keys reach every replica, whichever program sends them", async () => {
    const replicas = [await replica(), await replica()];
    const notified = replicas.map(({ name }) => once(keyChanges, name));
    await store.pool.query("select pg_notify('gas_waiver_keys', '')");
    await Promise.all(notified);
  });

  it("that ask for the keys of waivers to be read again reach every replica", async () => {
    const replicas = [await replica(), await replica()];
    const notified = replicas.map(({ name }) => once(reloads, name));
    await requestReload(store);
    await Promise.all(notified);
  });

  it("that no replica sent are of no effect", async () => {
    const [first, second] = [await replica(), await replica()];
    for (const payload of ["", "{}", "[null]", '[{"work":true,"waivers":["0x"]'])
      await store.pool.query("select pg_notify($1, $2)", [
        `gas_waiver_${second.name.replaceAll("-", "")}`,
        payload,
      ]);
    first.notifications.announceWork([laneOf(second.name, 3)]);
    expect(await second.until(1)).toEqual([workFor(3)]);
  });

  it("end at once, even if the connection is still being made", async () => {
    const notifications = openReplicaNotifications({ store, log: silent, replica: randomUUID() });
    notifications.listen({
      onResult: () => {},
      onWork: () => {},
      onKeysChanged: () => {},
      onReloadRequested: () => {},
    });
    await notifications.close();
  });
});
