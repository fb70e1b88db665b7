import { bytesToHex, hexToBytes } from "../encoding/hex.js";
import { type AllowedTarget, selectorOf, type Verdict } from "./AllowedTarget.js";

// Compiled policies, and combinations of policies: the calls that every one permits, and the calls that any one permits.

/** A compiled policy. `check` takes constant time, however many entries the policy has. */
export interface Policy {
  /**
   * Tells whether a call is permitted.
   * @param to the called contract, 20 bytes.
   * @param data the calldata.
   */
  check(to: Uint8Array, data: Uint8Array): Verdict;
  /**
   * Returns the method selectors that may be called on a contract, in 0x hex and in order; none if the contract is not
   * permitted, and undefined if any calldata is.
   * @param to the contract, 20 bytes.
   */
  selectorsFor(to: Uint8Array): readonly string[] | undefined;
}

/**
 * Compiles a policy from its entries (D4). Entries for the same address add up.
 * @example
 * ```ts
 * const policy = compilePolicy([{ address: token, selectors: [hexToBytes("0xa9059cbb")] }]);
 * console.log(policy.check(token, inner.data)); // "allowed", "target not allowed" or "selector not allowed"
 * ```
 */
export function compilePolicy(targets: readonly AllowedTarget[]): Policy {
  const scopes = scopesOf(targets);
  const wildcard = scopes.get("*");
  return {
    check(to, data) {
      const ofTarget = scopes.get(bytesToHex(to));
      if (ofTarget === undefined && wildcard === undefined) return "target not allowed";
      if (ofTarget === ANY || wildcard === ANY) return "allowed";
      const selector = selectorOf(data);
      if (selector === undefined) return "selector not allowed";
      const name = bytesToHex(selector);
      return ofTarget?.has(name) || wildcard?.has(name) ? "allowed" : "selector not allowed";
    },
    selectorsFor(to) {
      const ofTarget = scopes.get(bytesToHex(to));
      if (ofTarget === ANY || wildcard === ANY) return undefined;
      return [...new Set([...(ofTarget ?? []), ...(wildcard ?? [])])].sort();
    },
  };
}

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
    selectorsFor: (to) =>
      policies.map((policy) => policy.selectorsFor(to)).reduce(commonSelectors, undefined),
  };
}

/** Returns the selectors of both lists; a list that is undefined has all. */
function commonSelectors(
  first: readonly string[] | undefined,
  second: readonly string[] | undefined,
): readonly string[] | undefined {
  if (first === undefined || second === undefined) return first ?? second;
  return first.filter((selector) => second.includes(selector));
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
    selectorsFor(to) {
      const lists = policies.map((policy) => policy.selectorsFor(to));
      if (lists.includes(undefined)) return undefined;
      return [...new Set(lists.flatMap((selectors) => selectors ?? []))].sort();
    },
  };
}

const ANY = "any calldata";

/** The permitted selectors in hex, or any calldata, by address in hex or `*`. */
type Scopes = Map<string, Set<string> | typeof ANY>;

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
  first: readonly AllowedTarget[],
  second: readonly AllowedTarget[],
): AllowedTarget[] {
  const scopes: Scopes = new Map();
  const secondScopes = scopesOf(second);
  for (const [firstAddress, firstSelectors] of scopesOf(first)) {
    // An entry for any contract overlaps every entry of the other policy. An entry for one contract overlaps the entry for
    // the same contract and the entry for any.
    const overlapping = firstAddress === "*" ? secondScopes.keys() : [firstAddress, "*"];
    for (const secondAddress of overlapping) {
      const secondSelectors = secondScopes.get(secondAddress);
      if (secondSelectors === undefined) continue;
      const address = firstAddress === "*" ? secondAddress : firstAddress;
      addSelectors(scopes, address, intersectSelectors(firstSelectors, secondSelectors));
    }
  }
  return targetsOf(scopes);
}

function scopesOf(targets: readonly AllowedTarget[]): Scopes {
  const scopes: Scopes = new Map();
  for (const { address, selectors } of targets) {
    const key = address === "*" ? "*" : bytesToHex(address);
    addSelectors(scopes, key, selectors === undefined ? ANY : new Set(selectors.map(bytesToHex)));
  }
  return scopes;
}

function addSelectors(scopes: Scopes, address: string, selectors: ReadonlySet<string> | typeof ANY): void {
  const existing = scopes.get(address);
  if (selectors === ANY || existing === ANY) scopes.set(address, ANY);
  else if (existing === undefined) scopes.set(address, new Set(selectors));
  else for (const selector of selectors) existing.add(selector);
}

function intersectSelectors(
  first: ReadonlySet<string> | typeof ANY,
  second: ReadonlySet<string> | typeof ANY,
): ReadonlySet<string> | typeof ANY {
  if (first === ANY) return second;
  if (second === ANY) return first;
  return new Set([...first].filter((selector) => second.has(selector)));
}

function targetsOf(scopes: Scopes): AllowedTarget[] {
  const everywhere = scopes.get("*") ?? new Set<string>();
  const entries = [...scopes].sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.flatMap(([key, selectors]): AllowedTarget[] => {
    const address = key === "*" ? key : hexToBytes(key);
    if (key !== "*" && everywhere === ANY) return [];
    if (selectors === ANY) return [{ address }];
    const own = [...selectors].filter((name) => key === "*" || everywhere === ANY || !everywhere.has(name));
    return own.length === 0 ? [] : [{ address, selectors: own.sort().map(hexToBytes) }];
  });
}
