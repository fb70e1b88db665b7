import type { AllowedTarget, Policy } from "./AllowedTarget.js";
import { bytesToHex, hexToBytes } from "./hex.js";

// Policies put together: what all of them permit, and what any one of them permits.

/** Permits what every one of them permits; otherwise the verdict is that of the first that does not. */
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

/** Permits what at least one of them permits; otherwise the verdict is that of the one that comes nearest to it. */
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

/** By address in hex or `*`: the permitted selectors in hex, or any calldata. */
type Scopes = Map<string, ReadonlySet<string> | typeof ANY>;

/** The same policy with one entry an address, in a fixed order, and without what another entry permits anyway (D4). */
export function uniteTargets(...lists: readonly (readonly AllowedTarget[])[]): AllowedTarget[] {
  return targetsOf(scopesOf(lists.flat()));
}

/** The policy that permits what both permit: entries of one meet those of the other. */
export function intersectTargets(
  one: readonly AllowedTarget[],
  other: readonly AllowedTarget[],
): AllowedTarget[] {
  const scopes: Scopes = new Map();
  const [first, second] = [scopesOf(one), scopesOf(other)];
  for (const [address, selectors] of first) {
    // An entry for any contract meets every entry of the other; one for a contract the same, and that for any.
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
