import type { InnerTxRules } from "@gas-waiver/protocol";
import { type Caller, scopeOf } from "../model/keys/caller.js";
import type { ResolvedOptions } from "../model/options/options.js";
import type { PolicySet } from "./policySet.js";

/** The rules that hold for every caller. */
export type ChainRules = Pick<ResolvedOptions, "chainId" | "maxWrapperBytes" | "policyRemedy">;

/** The rules, with what a refusal by the waivers' policy says besides. */
export interface ServiceRules extends InnerTxRules {
  readonly policyRemedy?: ResolvedOptions["policyRemedy"] | undefined;
}

/** @returns the rules for the caller's InnerTxs (D3): the chain's rules, the caller's limits, the current policies. */
export function rulesFor(
  caller: Caller,
  { chainId, maxWrapperBytes, policyRemedy }: ChainRules,
  policies: PolicySet,
): ServiceRules {
  return {
    chainId: BigInt(chainId),
    maxGasLimit: caller.limits.maxGasLimit,
    maxDataLength: caller.limits.maxDataLength,
    maxWrapperBytes,
    policy: policies,
    policyName: "the policy of this service's waivers",
    policyRemedy,
    scope: scopeOf(caller),
    scopeName: "the scope of this API key",
  };
}
