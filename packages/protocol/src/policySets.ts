import type { AllowedTarget, Policy } from "./AllowedTarget.js";
import { bytesToHex, hexToBytes } from "./hex.js";

// Combinations of policies: what all of them permit, and what any one of them permits.

/**
 * Returns the policy that permits what every given one permits. Otherwise its verdict is that of the first that
 * refuses.
 * @example
 * ```ts
 * const policy = everyPolicy([waiverPolicy, keyScope]);
 * ```
 */
export function everyPolicy(policies: readonly Policy[]): Policy {
  return {
    check(to, data) {
      for (const policy of policies) {
        const verdict = policy.check(to, data);
        if (verdict !== "allowed") return verdict;
      }
      return "allowed";
    },
  };
}

/**
 * Returns the policy that permits what at least one given policy permits. Otherwise its verdict is that of the
 * policy that comes nearest: `selector not allowed` before `target not allowed`.
 * @example
 * ```ts
 * const policy = anyPolicy([waiverPolicy, compilePolicy([{ address: "*" }])]);
 * ```
 */
export function anyPolicy(policies: readonly Policy[]): Policy {
  return {
    check(to, data) {
      let known = false;
      for (const policy of policies) {
        const verdict = policy.check(to, data);
        if (verdict === "allowed") return verdict;
        known ||= verdict === "selector not allowed";
      }
      return known ? "selector not allowed" : "target not allowed";
    },
  };
}

const ANY = "any calldata";

/** The permitted selectors in hex, or any calldata, by address in hex or `*`. */
type Scopes = Map<string, ReadonlySet<string> | typeof ANY>;

/**
 * Returns the union of policies in normal form: one entry an address, in a fixed order, without what another entry
 * permits anyway (D4).
 * @example
 * ```ts
 * const targets = uniteTargets([{ address: token }], [{ address: "*", selectors: [hexToBytes("0xa9059cbb")] }]);
 * ```
 */
export function uniteTargets(...lists: readonly (readonly AllowedTarget[])[]): AllowedTarget[] {
  return targetsOf(scopesOf(lists.flat()));
}

/**
 * Returns the policy that permits what both permit, in the normal form of {@link uniteTargets}.
 * @example
 * ```ts
 * const targets = intersectTargets([{ address: "*" }], [{ address: token }]); // only the token
 * ```
 */
export function intersectTargets(
  one: readonly AllowedTarget[],
  other: readonly AllowedTarget[],
): AllowedTarget[] {
  const scopes: Scopes = new Map();
  const [first, second] = [scopesOf(one), scopesOf(other)];
  for (const [address, selectors] of first) {
    // An entry for any contract meets every entry of the other policy. An entry for one contract meets the entry for the
    // same contract and the entry for any.
    const met = address === "*" ? second.keys() : [address, "*"];
    for (const where of met) {
      const others = second.get(where);
      if (others !== undefined) add(scopes, address === "*" ? where : address, meet(selectors, others));
    }
  }
  return targetsOf(scopes);
}

function scopesOf(targets: readonly AllowedTarget[]): Scopes {
  const scopes: Scopes = new Map();
  for (const { address, selectors } of targets) {
    const where = address === "*" ? "*" : bytesToHex(address);
    add(scopes, where, selectors === undefined ? ANY : new Set(selectors.map(bytesToHex)));
  }
  return scopes;
}

function add(scopes: Scopes, where: string, selectors: ReadonlySet<string> | typeof ANY): void {
  const before = scopes.get(where);
  if (selectors === ANY || before === ANY) scopes.set(where, ANY);
  else scopes.set(where, new Set([...(before ?? []), ...selectors]));
}

function meet(
  one: ReadonlySet<string> | typeof ANY,
  other: ReadonlySet<string> | typeof ANY,
): ReadonlySet<string> | typeof ANY {
  if (one === ANY) return other;
  if (other === ANY) return one;
  return new Set([...one].filter((selector) => other.has(selector)));
}

function targetsOf(scopes: Scopes): AllowedTarget[] {
  const everywhere = scopes.get("*") ?? new Set<string>();
  const entries = [...scopes].sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.flatMap(([where, selectors]): AllowedTarget[] => {
    const address = where === "*" ? where : hexToBytes(where);
    if (where !== "*" && everywhere === ANY) return [];
    if (selectors === ANY) return [{ address }];
    const own = [...selectors].filter((name) => where === "*" || everywhere === ANY || !everywhere.has(name));
    return own.length === 0 ? [] : [{ address, selectors: own.sort().map(hexToBytes) }];
  });
}
