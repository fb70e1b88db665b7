import { define } from "../define.js";
import type { Reason } from "./index.js";
import type { Retry } from "./retry.js";

/** The kinds of values in an error's details, each with its type in JSON. */
interface KindTypes {
  /** 0x-prefixed lower-case hex of 20 bytes. */
  address: string;
  /** 0x-prefixed lower-case hex of 32 bytes. */
  hash: string;
  /** 0x-prefixed lower-case hex of 4 bytes; null for calldata without a method. */
  selector: string | null;
  selectors: readonly string[];
  /** 0x-prefixed lower-case hex of any length. */
  data: string;
  /** A whole number as decimal text, because it may pass 2^53. */
  decimal: string;
  number: number;
  text: string;
  /** ISO 8601, UTC. */
  time: string;
}

type Kind = keyof KindTypes;

/** More selectors than this are not listed. */
export const MAX_LISTED_SELECTORS = 100;
/** Longer texts are cut: they may come from a node. */
export const MAX_DETAIL_CHARACTERS = 200;

/** The names of the values of each kind. A name has one kind and one meaning, whatever the reason. */
const NAMES = /* @__PURE__ */ define(() => ({
  decimal: [
    "asked",
    "balance",
    "blockNumber",
    "chainId",
    "expected",
    "gasLimit",
    "gasPrice",
    "gasUsed",
    "intrinsicGas",
    "limit",
    "maxGasLimit",
    "missing",
    "needed",
    "nonce",
    "used",
    "value",
  ],
  number: [
    "burst",
    "bytes",
    "capacity",
    "held",
    "index",
    "maxBatchSize",
    "maxBodyBytes",
    "maxDataLength",
    "maxWrapperBytes",
    "nodeCode",
    "ratePerSecond",
    "remaining",
    "retryAfterSeconds",
    "wrapperBytes",
  ],
  text: [
    "cap",
    "cause",
    "causeFrom",
    "causeMessage",
    "missingHolder",
    "nodeMessage",
    "panic",
    "parameter",
    "submission",
    "unit",
  ],
  time: ["ends"],
  address: ["target"],
  hash: ["txHash", "usedBy"],
  selector: ["selector"],
  selectors: ["allowedSelectors"],
  data: ["revertData"],
})) satisfies Readonly<Record<Kind, readonly string[]>>;

/** The name of a value in an error's details. */
export type DetailName = (typeof NAMES)[Kind][number];

type TypeOf<Name extends DetailName> = {
  [K in Kind]: Name extends (typeof NAMES)[K][number] ? KindTypes[K] : never;
}[Kind];

/** The values that the errors of each reason have in their details (D13). Other reasons have `retry` alone. */
export const DETAILS = /* @__PURE__ */ define(() => ({
  NONCE_OUT_OF_RANGE: ["nonce"],
  WRONG_CHAIN_ID: ["chainId", "expected"],
  NON_ZERO_GAS_PRICE: ["gasPrice"],
  TARGET_IS_MARKER: ["target"],
  GAS_LIMIT_TOO_LOW: ["gasLimit", "intrinsicGas"],
  GAS_LIMIT_TOO_HIGH: ["gasLimit", "maxGasLimit"],
  DATA_TOO_LONG: ["bytes", "maxDataLength"],
  TRANSACTION_TOO_LARGE: ["bytes", "wrapperBytes", "maxWrapperBytes"],
  TARGET_NOT_ALLOWED: ["target", "selector", "allowedSelectors"],
  SELECTOR_NOT_ALLOWED: ["target", "selector", "allowedSelectors"],
  NONCE_TOO_LOW: ["nonce", "expected", "submission", "usedBy", "blockNumber"],
  NONCE_CONFLICT: ["nonce", "submission"],
  NONCE_GAP: ["nonce", "missing", "missingHolder", "submission"],
  INSUFFICIENT_BALANCE: ["balance", "value"],
  CAP_EXCEEDED: ["cap", "limit", "used", "asked", "ends"],
  WRAPPER_GAS_LIMIT_TOO_LOW: ["gasLimit", "needed"],
  NODE_REFUSED: ["nodeCode", "nodeMessage"],
  REVERTED: [
    "txHash",
    "blockNumber",
    "gasUsed",
    "gasLimit",
    "cause",
    "causeMessage",
    "panic",
    "revertData",
    "causeFrom",
  ],
  MALFORMED_BODY: ["index"],
  MALFORMED_QUERY: ["parameter"],
  BODY_TOO_LARGE: ["maxBodyBytes"],
  BATCH_TOO_LARGE: ["maxBatchSize"],
  RATE_EXCEEDED: ["ratePerSecond", "burst", "unit", "asked", "remaining", "retryAfterSeconds"],
  TOO_MANY_UNKNOWN_KEYS: ["retryAfterSeconds"],
  QUEUE_AT_CAPACITY: ["held", "capacity"],
  KEY_SHARE_EXHAUSTED: ["held", "capacity"],
  CONNECTION_FULL: ["capacity"],
  SOCKETS_AT_CAPACITY: ["capacity"],
  BODIES_AT_CAPACITY: ["capacity"],
})) satisfies Readonly<Partial<Record<Reason, readonly DetailName[]>>>;

/** The reasons whose errors have values of their own in their details. */
export type DetailedReason = keyof typeof DETAILS;

/**
 * The details of an error of the reason. Each value is optional: a service leaves out what it does not know, and an older
 * one has no details.
 */
export type DetailsOf<R extends Reason> = { readonly retry?: Retry } & (R extends DetailedReason
  ? { readonly [Name in (typeof DETAILS)[R][number]]?: TypeOf<Name> }
  : unknown);

/**
 * Returns the names of the values that the errors of the reason may have in their details.
 * @example
 * ```ts
 * detailNamesOf("NON_ZERO_GAS_PRICE"); // ["gasPrice"]
 * ```
 */
export function detailNamesOf(reason: Reason): readonly DetailName[] {
  return reason in DETAILS ? DETAILS[reason as DetailedReason] : [];
}

/** Returns those of the values that the errors of the reason have in their details, if they are of their kinds. */
export function detailValuesOf(
  reason: Reason,
  values: Readonly<Record<string, unknown>>,
): Readonly<Record<string, KindTypes[Kind]>> {
  const known = detailNamesOf(reason).flatMap((name) => {
    const value = readDetail(kindOf(name), values[name]);
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(known);
}

function kindOf(name: DetailName): Kind | undefined {
  return (Object.keys(NAMES) as Kind[]).find((kind) => (NAMES[kind] as readonly string[]).includes(name));
}

const PATTERNS: Readonly<Partial<Record<Kind, RegExp>>> = {
  address: /^0x[0-9a-f]{40}$/,
  hash: /^0x[0-9a-f]{64}$/,
  selector: /^0x[0-9a-f]{8}$/,
  data: /^0x([0-9a-f]{2})*$/,
  decimal: /^(0|[1-9][0-9]{0,77})$/,
};

/** Returns the value, cut to its length, or undefined if it is not of the kind. */
function readDetail(kind: Kind | undefined, value: unknown): KindTypes[Kind] | undefined {
  if (kind === "number") return typeof value === "number" ? value : undefined;
  if (kind === "selectors")
    return Array.isArray(value) ? value.filter(isSelector).slice(0, MAX_LISTED_SELECTORS) : undefined;
  if (kind === "selector" && value === null) return null;
  if (typeof value !== "string") return undefined;
  const pattern = kind && PATTERNS[kind];
  if (pattern === undefined) return value.slice(0, MAX_DETAIL_CHARACTERS);
  return pattern.test(value) ? value : undefined;
}

function isSelector(value: unknown): value is string {
  return typeof value === "string" && PATTERNS.selector?.test(value) === true;
}
