import { STABLE } from "@gas-waiver/protocol";

/** The chains that a devnet can be like: one of its own, with few rules, or the public chain `stable` (D39). */
export const PROFILES = ["plain", "stable"] as const;
export type Profile = (typeof PROFILES)[number];

/** Options that a profile decides, unless they are given. */
export const PROFILE_OPTIONS = {
  plain: {},
  // The chain's gas for verification is not published. The self-hosted sample's limit, 2.4 times the estimate of the InnerTx
  // (how-to/self-hosted-gas-waiver), covers it from 21,000 gas on only if it is 2,880 at most.
  stable: { blockTimeMs: STABLE.blockTimeMs, baseFee: STABLE.baseFee, verificationGas: 2_500n },
} as const satisfies Record<Profile, object>;

/** Namespaces that drive the devnet itself. No chain has them, and no profile takes them away. */
const CONTROLS = /^(devnet|evm|anvil|hardhat)_/;

/** Whether the node of a profile has a method. */
export function hasMethod(profile: Profile, name: string): boolean {
  return profile === "plain" || CONTROLS.test(name) || (STABLE.methods as readonly string[]).includes(name);
}
