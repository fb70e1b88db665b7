import { expect, it } from "vitest";
import { type Announcement, announcementOf, MAX_ANNOUNCED } from "./announcedBlocks.js";
import type { LogListener } from "./blockFeed.js";
import { createLogSubscriptions } from "./logSubscriptions.js";

const LOG = announcementOf({ address: "0x01", topics: [] });

/** The subscriptions of a connection whose turns come when the test takes them. */
function subscribed() {
  const listeners = new Set<LogListener>();
  const turns: { readonly logs: number; readonly take: () => void }[] = [];
  const told: (readonly Announcement[])[] = [];
  let losses = 0;
  const feed = {
    onLogs(listener: LogListener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const add = createLogSubscriptions(feed, {
    inTurn: (logs, compare) =>
      new Promise((resolve) => {
        turns.push({
          logs,
          take() {
            compare();
            resolve();
          },
        });
      }),
    onLost: () => void losses++,
  });
  const subscribe = () =>
    add({ isWanted: () => true, send: (logs: readonly Announcement[]) => told.push(logs) });
  const announce = (logs = [LOG]) => {
    for (const listener of listeners) listener.onLogs(logs);
  };
  const takeTurn = async () => {
    const turn = turns.shift();
    turn?.take();
    await Promise.resolve();
    return turn?.logs;
  };
  return { subscribe, announce, takeTurn, told, losses: () => losses, listeners };
}

it("logs are compared with some filters in each turn of the party, and told to no subscription that has ended", async () => {
  const { subscribe, announce, takeTurn, told, listeners } = subscribed();
  const ends = Array.from({ length: 3 }, subscribe);
  const many = Array.from({ length: 600 }, () => LOG);
  announce(many);
  expect(told).toEqual([]);
  expect([await takeTurn(), told.length]).toEqual([600, 1]);
  ends[1]?.();
  expect([await takeTurn(), told.length]).toEqual([600, 1]);
  expect([await takeTurn(), told.length]).toEqual([600, 2]);
  for (const end of ends) end();
  expect(listeners.size).toBe(0);
});

it("a client whose party has no turns for many blocks is told that logs are lost", () => {
  const { subscribe, announce, losses } = subscribed();
  subscribe();
  for (let i = 0; i <= MAX_ANNOUNCED; i++) announce();
  expect(losses()).toBe(0);
  announce();
  expect(losses()).toBe(1);
});
