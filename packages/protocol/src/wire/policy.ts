import { isCount, membersOf } from "./members.js";
import { WAITS, type Wait } from "./submit.js";
import { WireError } from "./WireError.js";

/** One entry of what may be sent (D4): a contract in 0x hex, or `*` for any. */
export interface PermittedTarget {
  readonly address: string;
  /** Method selectors in 0x hex. Absent: any calldata, also none. */
  readonly selectors?: readonly string[];
}

/** What one waiver would carry for this key. */
export interface WaiverPolicy {
  readonly address: string;
  /** Can it carry anything now? */
  readonly usable: boolean;
  /** Why not, for a person. */
  readonly message?: string;
  readonly allowedTargets: readonly PermittedTarget[];
}

/** The limits of a key (D22). Gas is decimal text, because it may pass 2^53. */
export interface PolicyLimits {
  /** Transactions a second, and how many at once after a pause. */
  readonly ratePerSecond: number;
  readonly rateBurst: number;
  /** Submissions of this key that may wait for a broadcast. */
  readonly maxQueued: number;
  readonly maxBatchSize: number;
  readonly maxBodyBytes: number;
  /** Of one InnerTx (D3). */
  readonly maxGasLimit: string;
  /** In bytes of calldata, of one InnerTx (D3). */
  readonly maxDataLength: number;
}

/** The daily caps of a key (D25); a cap that it does not have is absent. Gas is decimal text. */
export interface PolicyCaps {
  /** When the day ends, by UTC: ISO 8601. */
  readonly ends: string;
  readonly transactions?: { readonly limit: number; readonly left: number };
  readonly gas?: { readonly limit: string; readonly left: string };
  /** Of each sender. */
  readonly senderTransactions?: { readonly limit: number };
  readonly senderGas?: { readonly limit: string };
}

/** The body of `GET /v1/policy`: what this key may send. */
export interface KeyPolicy {
  readonly chainId: number;
  /** Where wrappers go, and InnerTxs do not. */
  readonly marker: string;
  readonly waits: readonly Wait[];
  /** What at least one waiver would carry for this key. */
  readonly allowedTargets: readonly PermittedTarget[];
  readonly waivers: readonly WaiverPolicy[];
  readonly limits: PolicyLimits;
  /** Only there if the key has any. */
  readonly caps?: PolicyCaps;
}

/** @throws {@link WireError} if the value is not the policy of a key. */
export function parseKeyPolicy(value: unknown): KeyPolicy {
  const { chainId, marker, waits, allowedTargets, waivers, limits, caps } = membersOf(value);
  const known =
    isCount(chainId) &&
    chainId > 0 &&
    typeof marker === "string" &&
    isListOf(waits, (one) => WAITS.some((wait) => wait === one)) &&
    isListOf(allowedTargets, isTarget) &&
    isListOf(waivers, isWaiver) &&
    isLimits(limits) &&
    (caps === undefined || isCaps(caps));
  if (!known) throw new WireError("the answer is not the policy of a key", value);
  return value as KeyPolicy;
}

function isListOf(value: unknown, isOne: (element: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isOne);
}

function isTarget(value: unknown): boolean {
  const { address, selectors } = membersOf(value);
  const listed = selectors === undefined || isListOf(selectors, (one) => typeof one === "string");
  return typeof address === "string" && listed;
}

function isWaiver(value: unknown): boolean {
  const { address, usable, message, allowedTargets } = membersOf(value);
  return (
    typeof address === "string" &&
    typeof usable === "boolean" &&
    ["undefined", "string"].includes(typeof message) &&
    isListOf(allowedTargets, isTarget)
  );
}

const COUNTS = ["ratePerSecond", "rateBurst", "maxQueued", "maxBatchSize", "maxBodyBytes", "maxDataLength"];

function isLimits(value: unknown): boolean {
  const limits = membersOf(value);
  return typeof limits.maxGasLimit === "string" && COUNTS.every((name) => isCount(limits[name]));
}

/** The caps of a key that are counts, and those that are gas; those of all senders also say what is left. */
const CAPS = {
  transactions: [isCount, ["limit", "left"]],
  gas: [isText, ["limit", "left"]],
  senderTransactions: [isCount, ["limit"]],
  senderGas: [isText, ["limit"]],
} as const;

function isCaps(value: unknown): boolean {
  const caps = membersOf(value);
  const isCap = (name: string, isAmount: (value: unknown) => boolean, members: readonly string[]) => {
    const cap = caps[name];
    return cap === undefined || members.every((member) => isAmount(membersOf(cap)[member]));
  };
  return (
    isText(caps.ends) &&
    Object.entries(CAPS).every(([name, [isAmount, members]]) => isCap(name, isAmount, members))
  );
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}
