import { compilePolicy } from "@gas-waiver/protocol";
import { expect, it } from "vitest";
import type { Caller } from "../model/keys/caller.js";
import type { ResolvedOptions } from "../model/options/options.js";
import { PRICES } from "../model/prices.js";
import type { PolicySet } from "../policy/policySet.js";
import { createSponsorship } from "./sponsorship.js";

it("charges a party for the calldata of a call that it asks about", () => {
  const charged: [string, number][] = [];
  const { isSponsorable } = createSponsorship({
    policies: { current: () => compilePolicy([{ address: "*" }]) as PolicySet },
    options: { chainId: 2201 } as ResolvedOptions,
    readiness: { probe: () => Promise.reject(new Error("nobody asks")) },
    loop: { charge: (party, price) => charged.push([party, price]) },
  });
  const limits = { maxGasLimit: 10_000_000n, maxDataLength: 131_072 };
  const caller = { keyId: "key", address: "192.0.2.1", limits } as Caller;
  const call = { to: `0x${"ab".repeat(20)}`, data: `0x${"01".repeat(100_000)}` };
  isSponsorable([call], caller);
  expect(charged).toEqual([["key 192.0.2.1", 200_000 * PRICES.checkedByte]]);
});
