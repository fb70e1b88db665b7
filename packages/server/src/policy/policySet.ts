import {
  type AllowedTarget,
  allowedTargetsToJson,
  anyPolicy,
  bytesToHex,
  compilePolicy,
  everyPolicy,
  type Hex,
  intersectTargets,
  type Policy,
  ProtocolError,
  uniteTargets,
  type Verdict,
} from "@gas-waiver/protocol";

/** The registry's policy for one waiver. */
export interface WaiverTargets {
  /** 20 bytes. */
  readonly waiver: Uint8Array;
  /** Undefined if the address is not registered. */
  readonly targets: readonly AllowedTarget[] | undefined;
}

/**
 * The policies of all waivers at one moment. A set never changes; a newer one replaces it whole. An InnerTx is accepted
 * if one waiver permits it (D4), and carried by one that does.
 */
export interface PolicySet extends Policy {
  /**
   * @returns the verdict of the waiver that comes nearest to permitting the call.
   * @throws {@link ProtocolError} `WAIVER_NOT_REGISTERED` if no waiver is registered.
   */
  check(to: Uint8Array, data: Uint8Array): Verdict;
  /** @returns the waivers that permit the call; undefined if all waivers permit the same calls. */
  waiversFor(to: Uint8Array, data: Uint8Array): readonly Uint8Array[] | undefined;
  /** @returns one sentence, for a person, if the waiver's lane can take no work; undefined if it can. */
  whyUnusable(waiver: Uint8Array): string | undefined;
  /** @returns the targets of the waiver; none if it is not registered. */
  targetsOf(waiver: Uint8Array): readonly AllowedTarget[];
  /** True if two waivers permit different calls. */
  readonly waiversDiffer: boolean;
}

/** Gives every waiver the same policy, when the configuration alone is the source. */
export function configuredPolicies(targets: readonly AllowedTarget[]): PolicySet {
  const policy = compilePolicy(targets);
  const united = uniteTargets(targets);
  return {
    check: policy.check,
    selectorsFor: policy.selectorsFor,
    waiversFor: () => undefined,
    whyUnusable: () => undefined,
    targetsOf: () => united,
    waiversDiffer: false,
  };
}

/** Waivers that permit the same calls. Most services have one group, however many waivers. */
interface WaiverGroup {
  readonly policy: Policy;
  readonly targets: readonly AllowedTarget[];
  readonly waivers: Uint8Array[];
}

/**
 * Gives each waiver its policy of the registry.
 * @param configured narrows all of them, if given.
 */
export function registryPolicies(
  found: readonly WaiverTargets[],
  configured: readonly AllowedTarget[] | undefined,
): PolicySet {
  const groups = groupByPolicy(found, configured);
  const groupByWaiver = new Map<Hex, WaiverGroup>();
  for (const group of groups)
    for (const waiver of group.waivers) groupByWaiver.set(bytesToHex(waiver), group);
  const known = new Set(found.map(({ waiver }) => bytesToHex(waiver)));
  const united = anyPolicy(groups.map(({ policy }) => policy));
  const waiversDiffer = groups.length > 1;
  return {
    waiversDiffer,
    check(to, data) {
      if (groups.length === 0) throw noWaiver(found);
      return united.check(to, data);
    },
    selectorsFor: united.selectorsFor,
    waiversFor(to, data) {
      if (!waiversDiffer) return undefined;
      return groups.flatMap(({ policy, waivers }) => (policy.check(to, data) === "allowed" ? waivers : []));
    },
    whyUnusable(waiver) {
      const address = bytesToHex(waiver);
      if (groupByWaiver.has(address)) return undefined;
      return known.has(address)
        ? `${address} is not a registered waiver`
        : `the policy of ${address} has not been read yet`;
    },
    targetsOf: (waiver) => groupByWaiver.get(bytesToHex(waiver))?.targets ?? [],
  };
}

function groupByPolicy(
  found: readonly WaiverTargets[],
  configured: readonly AllowedTarget[] | undefined,
): readonly WaiverGroup[] {
  const narrowing = configured && compilePolicy(configured);
  const groups = new Map<string, WaiverGroup>();
  for (const { waiver, targets: registered } of found) {
    if (registered === undefined) continue;
    const targets = configured ? intersectTargets(registered, configured) : uniteTargets(registered);
    const canonical = JSON.stringify(allowedTargetsToJson(targets));
    const group = groups.get(canonical);
    if (group) group.waivers.push(waiver);
    else {
      const policy = compilePolicy(registered);
      // Both policies are asked, rather than one compiled from their intersection. A target that both name,
      // with no selector in common, would be missing there, and its verdict would be "target not allowed" instead of
      // "selector not allowed".
      groups.set(canonical, {
        policy: narrowing ? everyPolicy([narrowing, policy]) : policy,
        targets,
        waivers: [waiver],
      });
    }
  }
  return [...groups.values()];
}

function noWaiver(found: readonly WaiverTargets[]): ProtocolError {
  const waivers = found.map(({ waiver }) => bytesToHex(waiver)).join(", ");
  return new ProtocolError(
    "WAIVER_NOT_REGISTERED",
    `none of this service's waivers is registered: ${waivers}`,
    { waivers },
  );
}
