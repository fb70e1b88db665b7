import {
  type AllowedTarget,
  allowedTargetsToJson,
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

/** One waiver, and what the registry has of it: undefined if it is not registered. */
export interface WaiverTargets {
  /** 20 bytes. */
  readonly waiver: Uint8Array;
  readonly targets: readonly AllowedTarget[] | undefined;
}

/**
 * What the waivers may send, as it is known at one moment: compiled, never changed, replaced whole by a newer one.
 * An InnerTx is taken if one waiver permits it (D4), and carried by one that does.
 */
export interface PolicySet extends Policy {
  /**
   * The verdict of the waiver that comes nearest to permitting the call.
   * @throws {@link ProtocolError} `WAIVER_NOT_REGISTERED` if there is no registered waiver at all.
   */
  check(to: Uint8Array, data: Uint8Array): Verdict;
  /** The waivers that permit the call; undefined if that is no question: all of them permit the same. */
  waiversFor(to: Uint8Array, data: Uint8Array): readonly Uint8Array[] | undefined;
  /** Why the waiver's lane can take no work, for a person; undefined if it can. */
  whyUnusable(waiver: Uint8Array): string | undefined;
  /** What the waiver may send; nothing if it is not registered. */
  targetsOf(waiver: Uint8Array): readonly AllowedTarget[];
  /** May two waivers send different calls? */
  readonly waiversDiffer: boolean;
}

/** One policy for every waiver there is: the configuration alone. */
export function configuredPolicies(targets: readonly AllowedTarget[]): PolicySet {
  const policy = compilePolicy(targets);
  const united = uniteTargets(targets);
  return {
    check: policy.check,
    waiversFor: () => undefined,
    whyUnusable: () => undefined,
    targetsOf: () => united,
    waiversDiffer: false,
  };
}

/** Waivers that may send the same. */
interface Group {
  readonly policy: Policy;
  readonly targets: readonly AllowedTarget[];
  readonly waivers: Uint8Array[];
}

/** What the registry permits each waiver; a configuration, if there is one, narrows it. */
export function registryPolicies(
  found: readonly WaiverTargets[],
  configured: readonly AllowedTarget[] | undefined,
): PolicySet {
  const groups = groupsOf(found, configured);
  const groupOf = new Map<Hex, Group>();
  for (const group of groups) for (const waiver of group.waivers) groupOf.set(bytesToHex(waiver), group);
  const known = new Set(found.map(({ waiver }) => bytesToHex(waiver)));
  const [only] = groups;
  const waiversDiffer = groups.length > 1;
  return {
    waiversDiffer,
    check(to, data) {
      if (only === undefined) throw noWaiver(found);
      if (!waiversDiffer) return only.policy.check(to, data);
      let best: Verdict = "target not allowed";
      for (const { policy } of groups) {
        const verdict = policy.check(to, data);
        if (verdict === "allowed") return verdict;
        if (verdict === "selector not allowed") best = verdict;
      }
      return best;
    },
    waiversFor(to, data) {
      if (!waiversDiffer) return undefined;
      return groups.flatMap(({ policy, waivers }) => (policy.check(to, data) === "allowed" ? waivers : []));
    },
    whyUnusable(waiver) {
      const name = bytesToHex(waiver);
      if (groupOf.has(name)) return undefined;
      return known.has(name)
        ? `${name} is not a registered waiver`
        : `the policy of ${name} has not been read yet`;
    },
    targetsOf: (waiver) => groupOf.get(bytesToHex(waiver))?.targets ?? [],
  };
}

/** Most services have one group, however many waivers. */
function groupsOf(
  found: readonly WaiverTargets[],
  configured: readonly AllowedTarget[] | undefined,
): readonly Group[] {
  const narrower = configured && compilePolicy(configured);
  const groups = new Map<string, Group>();
  for (const { waiver, targets: registered } of found) {
    if (registered === undefined) continue;
    const targets = configured ? intersectTargets(registered, configured) : uniteTargets(registered);
    const name = JSON.stringify(allowedTargetsToJson(targets));
    const group = groups.get(name);
    if (group) group.waivers.push(waiver);
    else {
      const policy = compilePolicy(registered);
      // Not compiled from their meeting: a target that one of them names must not become unknown by it.
      groups.set(name, {
        policy: narrower ? everyPolicy([narrower, policy]) : policy,
        targets,
        waivers: [waiver],
      });
    }
  }
  return [...groups.values()];
}

function noWaiver(found: readonly WaiverTargets[]): ProtocolError {
  const names = found.map(({ waiver }) => bytesToHex(waiver));
  return new ProtocolError(
    "WAIVER_NOT_REGISTERED",
    `none of this service's waivers is registered: ${names.join(", ")}`,
    { waivers: names.join(", ") },
  );
}
