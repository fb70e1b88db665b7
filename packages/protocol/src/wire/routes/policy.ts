import { defineSchema } from "../schema.js";
import { ADDRESS, COUNT, DECIMAL, isCount, isOptionalText, isText, membersOf, TIME } from "../values.js";
import { WAITS, type Wait } from "../wait.js";
import { WireError } from "../wireError.js";
import { defineRoute, type Route } from "./routeDefinition.js";

export const POLICY_ROUTE = {
  method: "GET",
  path: "/v1/policy",
  authenticated: true,
} as const satisfies Route;

/** One permitted target (D4): a contract as 0x-prefixed hex, or `*` for any. */
export interface PermittedTarget {
  readonly address: string;
  /** The permitted methods as 0x-prefixed hex. If absent, any calldata is permitted, even none. */
  readonly selectors?: readonly string[];
}

/** The targets that one waiver carries for this key. */
export interface WaiverPolicy {
  readonly address: string;
  /** Whether the waiver can carry a transaction now. */
  readonly usable: boolean;
  /** The reason why it cannot, for a person. */
  readonly message?: string;
  readonly allowedTargets: readonly PermittedTarget[];
}

/** The limits of a key (D22). Gas is decimal text, because it may pass 2^53. */
export interface PolicyLimits {
  /** Transactions a second. */
  readonly ratePerSecond: number;
  /** Transactions at once after a pause. */
  readonly rateBurst: number;
  /** Submissions of this key that may wait for their broadcast. */
  readonly maxQueued: number;
  /** Transactions in one request. */
  readonly maxBatchSize: number;
  readonly maxBodyBytes: number;
  /** The highest gas limit of one InnerTx (D3). */
  readonly maxGasLimit: string;
  /** The longest calldata of one InnerTx, in bytes (D3). */
  readonly maxDataLength: number;
}

/** The daily caps of a key (D25). A cap that the key does not have is absent. Gas is decimal text. */
export interface PolicyCaps {
  /** The end of the current day in UTC, in ISO 8601. */
  readonly ends: string;
  readonly transactions?: { readonly limit: number; readonly left: number };
  readonly gas?: { readonly limit: string; readonly left: string };
  /** The daily cap on the transactions of each sender. */
  readonly senderTransactions?: { readonly limit: number };
  /** The daily cap on the gas of each sender. */
  readonly senderGas?: { readonly limit: string };
}

/** The body of the response: the transactions that this key may send. */
export interface KeyPolicy {
  readonly chainId: number;
  /** The address that marks wrappers (D5). No InnerTx may call it. */
  readonly marker: string;
  readonly waits: readonly Wait[];
  /** The targets that at least one waiver carries for this key. */
  readonly allowedTargets: readonly PermittedTarget[];
  readonly waivers: readonly WaiverPolicy[];
  readonly limits: PolicyLimits;
  /** Absent if the key has no caps. */
  readonly caps?: PolicyCaps;
}

/**
 * Reads the body of a response of `GET /v1/policy`. Members that this library does not know are kept.
 * @throws {@link WireError} if the value is not such a body.
 * @example
 * ```ts
 * const { allowedTargets, limits } = parseKeyPolicy(await response.json());
 * ```
 */
export function parseKeyPolicy(value: unknown): KeyPolicy {
  const { chainId, marker, waits, allowedTargets, waivers, limits, caps } = membersOf(value);
  const isPolicy =
    isCount(chainId) &&
    chainId > 0 &&
    isText(marker) &&
    isListOf(waits, (one) => WAITS.some((wait) => wait === one)) &&
    isListOf(allowedTargets, isTarget) &&
    isListOf(waivers, isWaiver) &&
    isLimits(limits) &&
    (caps === undefined || isCaps(caps));
  if (!isPolicy) throw new WireError("the answer is not the policy of a key", value);
  return value as KeyPolicy;
}

function isListOf(value: unknown, isElement: (element: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isElement);
}

function isTarget(value: unknown): boolean {
  const { address, selectors } = membersOf(value);
  return isText(address) && (selectors === undefined || isListOf(selectors, isText));
}

function isWaiver(value: unknown): boolean {
  const { address, usable, message, allowedTargets } = membersOf(value);
  return (
    isText(address) &&
    typeof usable === "boolean" &&
    isOptionalText(message) &&
    isListOf(allowedTargets, isTarget)
  );
}

const COUNT_LIMITS = [
  "ratePerSecond",
  "rateBurst",
  "maxQueued",
  "maxBatchSize",
  "maxBodyBytes",
  "maxDataLength",
];

function isLimits(value: unknown): boolean {
  const limits = membersOf(value);
  return isText(limits.maxGasLimit) && COUNT_LIMITS.every((name) => isCount(limits[name]));
}

/** The guard and the members of each cap. The caps of a single sender do not say what is left. */
const CAP_FORMS = {
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
    Object.entries(CAP_FORMS).every(([name, [isAmount, members]]) => isCap(name, isAmount, members))
  );
}

const TARGETS = /* @__PURE__ */ defineSchema(() => ({
  type: "array",
  items: {
    type: "object",
    properties: {
      address: { type: "string", description: "A contract, or `*` for any (D4)." },
      selectors: {
        type: "array",
        items: { type: "string" },
        description:
          "The first four bytes of permitted calldata. If absent, any calldata is permitted, even none.",
      },
    },
    required: ["address"],
  },
}));

const LIMITS = /* @__PURE__ */ defineSchema(() => ({
  type: "object",
  description: "The limits of this key (D22).",
  properties: {
    ratePerSecond: { ...COUNT, description: "Transactions a second." },
    rateBurst: { ...COUNT, description: "Transactions at once after a pause." },
    maxQueued: { ...COUNT, description: "Submissions of this key that may wait for their broadcast." },
    maxBatchSize: { ...COUNT, description: "Transactions in one request." },
    maxBodyBytes: { ...COUNT, description: "Bytes of a request's body, and of a frame." },
    maxGasLimit: { ...DECIMAL, description: "The highest gas limit of one InnerTx (D3)." },
    maxDataLength: { ...COUNT, description: "The longest calldata of one InnerTx, in bytes (D3)." },
  },
  required: [
    "ratePerSecond",
    "rateBurst",
    "maxQueued",
    "maxBatchSize",
    "maxBodyBytes",
    "maxGasLimit",
    "maxDataLength",
  ],
}));

const CAPS = /* @__PURE__ */ defineSchema(() => ({
  type: "object",
  description: "The daily caps of this key (D25). A cap that the key does not have is absent.",
  properties: {
    ends: { ...TIME, description: "The end of the current day, in UTC." },
    transactions: {
      type: "object",
      properties: { limit: COUNT, left: COUNT },
      required: ["limit", "left"],
    },
    gas: { type: "object", properties: { limit: DECIMAL, left: DECIMAL }, required: ["limit", "left"] },
    senderTransactions: {
      type: "object",
      description: "For each sender.",
      properties: { limit: COUNT },
      required: ["limit"],
    },
    senderGas: {
      type: "object",
      description: "For each sender.",
      properties: { limit: DECIMAL },
      required: ["limit"],
    },
  },
  required: ["ends"],
}));

const KEY_POLICY_SCHEMA = /* @__PURE__ */ defineSchema(() => ({
  type: "object",
  description: "The transactions that this key may send.",
  properties: {
    chainId: { type: "integer", minimum: 1, description: "The chain id to sign with (D27)." },
    marker: { ...ADDRESS, description: "The address that marks wrappers (D5). No InnerTx may call it." },
    waits: {
      type: "array",
      items: { type: "string", enum: WAITS },
      description: "The values of `wait` (D16).",
    },
    allowedTargets: {
      ...TARGETS,
      description: "The targets that at least one waiver carries for this key (D4, D25).",
    },
    waivers: {
      type: "array",
      description: "Each waiver, with the targets that it carries for this key.",
      items: {
        type: "object",
        properties: {
          address: ADDRESS,
          usable: { type: "boolean", description: "Whether the waiver can carry a transaction now." },
          message: { type: "string", description: "The reason why it cannot, for a person." },
          allowedTargets: TARGETS,
        },
        required: ["address", "usable", "allowedTargets"],
      },
    },
    limits: LIMITS,
    caps: CAPS,
  },
  required: ["chainId", "marker", "waits", "allowedTargets", "waivers", "limits"],
}));

const TOKEN_SAMPLE = {
  address: "0x78cf24370174180738c5b8e352b6d14c83a6c9a9",
  selectors: ["0x095ea7b3", "0xa9059cbb"],
} as const satisfies PermittedTarget;

export default /* @__PURE__ */ defineRoute(() => ({
  summary: "Get the policy of this key",
  text: [
    "The contracts and methods that the waivers carry for this key, in all and for each waiver alone, the limits of the key, and the rest of its daily caps. A change by governance shows as soon as the service has seen its block.",
  ],
  responses: {
    200: {
      description: "The policy.",
      contentType: "application/json",
      schema: KEY_POLICY_SCHEMA,
      headers: ["Cache-Control"],
    },
  },
  refusals: ["RATE_EXCEEDED", "QUEUE_AT_CAPACITY", "STORE_UNAVAILABLE", "CHAIN_UNAVAILABLE"],
  curl: `curl "$URL/v1/policy" -H "Authorization: Bearer $API_KEY"`,
  sdk: "const { allowedTargets, limits } = await client.policy();",
  schemas: {
    KeyPolicy: {
      schema: KEY_POLICY_SCHEMA,
      examples: [
        {
          chainId: 2201,
          marker: "0x000000000000000000000000000000000000f333",
          waits: ["broadcast", "included"],
          allowedTargets: [TOKEN_SAMPLE],
          waivers: [
            {
              address: "0xbcd4042de499d14e55001ccbb24a551f3b954096",
              usable: true,
              allowedTargets: [TOKEN_SAMPLE],
            },
            {
              address: "0x71be63f3384f5fb98995898a86b02fb2426c5788",
              usable: false,
              message: "0x71be63f3384f5fb98995898a86b02fb2426c5788 is not a registered waiver",
              allowedTargets: [],
            },
          ],
          limits: {
            ratePerSecond: 100,
            rateBurst: 200,
            maxQueued: 5_000,
            maxBatchSize: 100,
            maxBodyBytes: 33_554_432,
            maxGasLimit: "10000000",
            maxDataLength: 130_786,
          },
          caps: {
            ends: "2026-05-19T00:00:00.000Z",
            transactions: { limit: 10_000, left: 9_312 },
            gas: { limit: "2000000000", left: "1964411730" },
            senderTransactions: { limit: 20 },
            senderGas: { limit: "4000000" },
          },
        },
      ],
      read: parseKeyPolicy,
    },
  },
}));
