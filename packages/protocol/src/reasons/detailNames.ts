import { define } from "../define.js";

/** The kinds of values in an error's details, each with its type in JSON. */
export interface KindTypes {
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

export type Kind = keyof KindTypes;

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

export type DetailType<Name extends DetailName> = {
  [K in Kind]: Name extends (typeof NAMES)[K][number] ? KindTypes[K] : never;
}[Kind];

/** Returns those of the values that have one of the names, and are of its kind. */
export function readDetails(
  names: readonly string[],
  values: Readonly<Record<string, unknown>>,
): Readonly<Record<string, KindTypes[Kind]>> {
  const known = names.flatMap((name) => {
    const kind = kindOf(name);
    const value = kind && readDetail(kind, values[name]);
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(known);
}

/** Returns the kind of a value, or undefined if this library does not know the name. */
export function kindOf(name: string): Kind | undefined {
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
function readDetail(kind: Kind, value: unknown): KindTypes[Kind] | undefined {
  if (kind === "number") return typeof value === "number" ? value : undefined;
  if (kind === "selectors")
    return Array.isArray(value) ? value.filter(isSelector).slice(0, MAX_LISTED_SELECTORS) : undefined;
  if (kind === "selector" && value === null) return null;
  if (typeof value !== "string") return undefined;
  const pattern = PATTERNS[kind];
  if (pattern === undefined) return value.slice(0, MAX_DETAIL_CHARACTERS);
  return pattern.test(value) ? value : undefined;
}

function isSelector(value: unknown): value is string {
  return typeof value === "string" && PATTERNS.selector?.test(value) === true;
}
