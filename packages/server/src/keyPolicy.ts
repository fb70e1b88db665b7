import {
  type AllowedTarget,
  allowedTargetsToJson,
  bytesToHex,
  intersectTargets,
  type KeyPolicy,
  MARKER_ADDRESS,
  type PolicyLimits,
  uniteTargets,
  WAITS,
  type WaiverPolicy,
} from "@gas-waiver/protocol";
import type { Caller } from "./caller.js";
import type { ResolvedOptions } from "./options.js";
import type { Policies } from "./policy.js";

export interface KeyPolicyDependencies {
  readonly options: Pick<ResolvedOptions, "chainId" | "maxBodyBytes" | "queueCapacity">;
  /** @throws ProtocolError `CHAIN_UNAVAILABLE` while nothing is known. */
  policies(): Policies;
  /** The waivers whose lanes may take work, and whether they do. */
  waivers(): readonly { readonly waiver: Uint8Array; readonly usable: boolean }[];
}

/**
 * What this key may send, as it is known now: what the waivers permit, narrowed by the key's own scope.
 * @throws ProtocolError `CHAIN_UNAVAILABLE` while nothing is known.
 */
export function keyPolicyOf(
  caller: Caller,
  { options, policies, waivers }: KeyPolicyDependencies,
): KeyPolicy {
  const known = policies();
  const { allowedTargets: scope } = caller;
  const permitted = waivers().map(({ waiver, usable }) => {
    const targets = known.targetsOf(waiver);
    const message = known.unusable(waiver) ?? (usable ? undefined : "it is given no work now");
    return { waiver, targets: scope ? intersectTargets(targets, scope) : targets, message };
  });
  return {
    chainId: options.chainId,
    marker: bytesToHex(MARKER_ADDRESS),
    waits: WAITS,
    allowedTargets: allowedTargetsToJson(uniteTargets(...permitted.map(({ targets }) => targets))),
    waivers: permitted.map(waiverPolicyOf),
    limits: limitsOf(caller, options),
  };
}

function waiverPolicyOf({
  waiver,
  targets,
  message,
}: {
  readonly waiver: Uint8Array;
  readonly targets: readonly AllowedTarget[];
  readonly message: string | undefined;
}): WaiverPolicy {
  return {
    address: bytesToHex(waiver),
    usable: message === undefined,
    ...(message !== undefined && { message }),
    allowedTargets: allowedTargetsToJson(targets),
  };
}

function limitsOf({ limits }: Caller, options: KeyPolicyDependencies["options"]): PolicyLimits {
  const { ratePerSecond, rateBurst, queueShare, maxBatchSize, maxBodyBytes, maxGasLimit, maxDataLength } =
    limits;
  return {
    ratePerSecond,
    rateBurst,
    maxQueued: Math.ceil(options.queueCapacity * queueShare),
    maxBatchSize,
    maxBodyBytes: Math.min(maxBodyBytes ?? options.maxBodyBytes, options.maxBodyBytes),
    maxGasLimit: maxGasLimit.toString(),
    maxDataLength,
  };
}
