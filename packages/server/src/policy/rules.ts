import type { InnerTxRules } from "@gas-waiver/protocol";
import { type Caller, scopeOf } from "../model/caller.js";
import type { PolicySet } from "./policySet.js";

/** @returns the rules for the caller's InnerTxs (D3): the chain's rules, the caller's limits, the current policies. */
export function rulesFor(
  caller: Caller,
  {
    chainId,
    maxWrapperBytes,
    policies,
  }: { readonly chainId: number; readonly maxWrapperBytes: number; readonly policies: PolicySet },
): InnerTxRules {
  return {
    chainId: BigInt(chainId),
    maxGasLimit: caller.limits.maxGasLimit,
    maxDataLength: caller.limits.maxDataLength,
    maxWrapperBytes,
    policy: policies,
    policyName: "the policy of this service's waivers",
    scope: scopeOf(caller),
    scopeName: "the scope of this API key",
  };
}
