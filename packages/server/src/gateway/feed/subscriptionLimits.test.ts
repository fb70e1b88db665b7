import { expect, it } from "vitest";
import { MAX_ADDRESS_SUBSCRIPTIONS, MAX_SUBSCRIPTIONS, SubscriptionLimits } from "./subscriptionLimits.js";

it("takes subscriptions from the address with most for one with few, where a key has as many as it may", () => {
  const limits = new SubscriptionLimits();
  const closed: number[] = [];
  const open = (address: number) => {
    const connection = limits.open({ keyId: "page", address: `192.0.2.${address}` }, () => {
      closed.push(address);
      connection.end();
    });
    return connection;
  };
  for (let address = 0; address < 25; address++) {
    for (let n = 0; n < MAX_ADDRESS_SUBSCRIPTIONS; ) {
      const connection = open(address);
      for (let i = 0; i < MAX_SUBSCRIPTIONS; i++, n++) connection.enter();
    }
  }
  expect(() => open(3).enter()).toThrow("this address has 400");
  const wallet = open(100);
  for (let i = 0; i < MAX_SUBSCRIPTIONS; i++) wallet.enter();
  expect(closed).toEqual([0]);
  expect(() => wallet.enter()).toThrow("this connection has 100");
  const others = Array.from({ length: 100 }, (_, i) => open(101 + i));
  for (const other of others) other.enter();
  expect(closed).toEqual([0, 1]);
});
