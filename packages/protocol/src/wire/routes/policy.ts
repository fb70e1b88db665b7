import { define } from "../../define.js";
import { objectSchema } from "../schema.js";
import { type Members, readShape, type TypeOf } from "../shape.js";
import { WAITS } from "../wait.js";
import { defineRoute, type Route } from "./routeDefinition.js";

export const POLICY_ROUTE = {
  method: "GET",
  path: "/v1/policy",
  authenticated: true,
} as const satisfies Route;

const TARGET = {
  address: "text",
  /** The permitted methods as 0x-prefixed hex. If absent, any calldata is permitted, even none. */
  selectors: ["optional", ["list", "text"]],
} as const satisfies Members;

/** One permitted target (D4): a contract as 0x-prefixed hex, or `*` for any. */
export interface PermittedTarget extends TypeOf<typeof TARGET> {}

const WAIVER = {
  address: "address",
  /** Whether the waiver can carry a transaction now. */
  usable: "boolean",
  /** The reason why it cannot, for a person. */
  message: "text?",
  allowedTargets: ["list", TARGET],
} as const satisfies Members;

/** The targets that one waiver carries for this key. */
export interface WaiverPolicy extends TypeOf<typeof WAIVER> {
  readonly allowedTargets: readonly PermittedTarget[];
}

const LIMITS = {
  /** Transactions a second. */
  ratePerSecond: "count",
  /** Transactions at once after a pause. */
  rateBurst: "count",
  /** Submissions of this key that may wait for their broadcast. */
  maxQueued: "count",
  /** Transactions in one request. */
  maxBatchSize: "count",
  maxBodyBytes: "count",
  /** The highest gas limit of one InnerTx (D3). */
  maxGasLimit: "decimal",
  /** The longest calldata of one InnerTx, in bytes (D3). */
  maxDataLength: "count",
} as const satisfies Members;

/** The limits of a key (D22). Gas is decimal text, because it may pass 2^53. */
export interface PolicyLimits extends TypeOf<typeof LIMITS> {}

const CAPS = {
  /** The end of the current day in UTC, in ISO 8601. */
  ends: "time",
  transactions: ["optional", { limit: "count", left: "count" }],
  gas: ["optional", { limit: "decimal", left: "decimal" }],
  /** The daily cap on the transactions of each sender. */
  senderTransactions: ["optional", { limit: "count" }],
  /** The daily cap on the gas of each sender. */
  senderGas: ["optional", { limit: "decimal" }],
} as const satisfies Members;

/** The daily caps of a key (D25). A cap that the key does not have is absent. Gas is decimal text. */
export interface PolicyCaps extends TypeOf<typeof CAPS> {}

const KEY_POLICY = {
  chainId: "chainId",
  /** The hash of the chain's first block, which tells chains of one id apart. Absent if no node has that block. */
  genesisHash: "hash?",
  /** The address that marks wrappers (D5). No InnerTx may call it. */
  marker: "address",
  waits: ["list", ["enum", WAITS]],
  allowedTargets: ["list", TARGET],
  waivers: ["list", WAIVER],
  limits: LIMITS,
  caps: ["optional", CAPS],
} as const satisfies Members;

/** The body of the response: the transactions that this key may send. */
export interface KeyPolicy extends TypeOf<typeof KEY_POLICY> {
  // An editor shows these by their names.
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
  return readShape(KEY_POLICY, value, "the answer is not the policy of a key");
}

const KEY_POLICY_SCHEMA = /* @__PURE__ */ define(() => {
  const targets = {
    type: "array",
    items: objectSchema(TARGET, undefined, {
      address: "A contract, or `*` for any (D4).",
      selectors:
        "The first four bytes of permitted calldata. If absent, any calldata is permitted, even none.",
    }),
  } as const;
  return objectSchema(KEY_POLICY, "The transactions that this key may send.", {
    chainId: "The chain id to sign with (D27).",
    genesisHash:
      "The hash of the chain's first block, which tells chains of one id apart. Absent if no node has that block.",
    marker: "The address that marks wrappers (D5). No InnerTx may call it.",
    waits: "The values of `wait` (D16).",
    allowedTargets: {
      ...targets,
      description: "The targets that at least one waiver carries for this key (D4, D25).",
    },
    waivers: {
      type: "array",
      description: "Each waiver, with the targets that it carries for this key.",
      items: objectSchema(WAIVER, undefined, {
        usable: "Whether the waiver can carry a transaction now.",
        message: "The reason why it cannot, for a person.",
        allowedTargets: targets,
      }),
    },
    limits: objectSchema(LIMITS, "The limits of this key (D22).", {
      ratePerSecond: "Transactions a second.",
      rateBurst: "Transactions at once after a pause.",
      maxQueued: "Submissions of this key that may wait for their broadcast.",
      maxBatchSize: "Transactions in one request.",
      maxBodyBytes: "Bytes of a request's body, and of a frame.",
      maxGasLimit: "The highest gas limit of one InnerTx (D3).",
      maxDataLength: "The longest calldata of one InnerTx, in bytes (D3).",
    }),
    caps: objectSchema(
      CAPS,
      "The daily caps of this key (D25). A cap that the key does not have is absent.",
      {
        ends: "The end of the current day, in UTC.",
        senderTransactions: objectSchema({ limit: "count" }, "For each sender."),
        senderGas: objectSchema({ limit: "decimal" }, "For each sender."),
      },
    ),
  });
});

const TOKEN_SAMPLE = {
  address: "0x78cf24370174180738c5b8e352b6d14c83a6c9a9",
  selectors: ["0x095ea7b3", "0xa9059cbb"],
};

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
          genesisHash: "0x5d2c1f0a9be84763a1c05e7f3d48b6920c7e1a5f8b3d6492e0f7a1c4d95b2e68",
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
