import { WAITS } from "../submit.js";
import type { Schema } from "./Schema.js";
import { ADDRESS, DECIMAL, TIME } from "./values.js";

const COUNT = { type: "integer", minimum: 0 } as const satisfies Schema;

const TARGETS = {
  type: "array",
  items: {
    type: "object",
    properties: {
      address: { type: "string", description: "A contract, or `*` for any (D4)." },
      selectors: {
        type: "array",
        items: { type: "string" },
        description:
          "The first four bytes of permitted calldata. Without this member any calldata is, also none.",
      },
    },
    required: ["address"],
  },
} as const satisfies Schema;

const CAPS = {
  type: "object",
  description: "The daily caps of this key, if it has any (D25). What is not capped is absent.",
  properties: {
    ends: { ...TIME, description: "When the day ends." },
    transactions: {
      type: "object",
      properties: { limit: COUNT, left: COUNT },
      required: ["limit", "left"],
    },
    gas: { type: "object", properties: { limit: DECIMAL, left: DECIMAL }, required: ["limit", "left"] },
    senderTransactions: {
      type: "object",
      description: "Of each sender.",
      properties: { limit: COUNT },
      required: ["limit"],
    },
    senderGas: {
      type: "object",
      description: "Of each sender.",
      properties: { limit: DECIMAL },
      required: ["limit"],
    },
  },
  required: ["ends"],
} as const satisfies Schema;

export const KEY_POLICY_SCHEMA = {
  type: "object",
  description: "What this key may send.",
  properties: {
    chainId: { type: "integer", minimum: 1, description: "The chain to sign for (D27)." },
    marker: { ...ADDRESS, description: "Where wrappers go; no InnerTx may." },
    waits: {
      type: "array",
      items: { type: "string", enum: WAITS },
      description: "What `wait` can be (D16).",
    },
    allowedTargets: {
      ...TARGETS,
      description: "What at least one waiver would carry for this key (D4, D25).",
    },
    waivers: {
      type: "array",
      description: "Each waiver, and what it alone would carry for this key.",
      items: {
        type: "object",
        properties: {
          address: ADDRESS,
          usable: { type: "boolean", description: "Whether it can carry anything now." },
          message: { type: "string", description: "Why not, for a person." },
          allowedTargets: TARGETS,
        },
        required: ["address", "usable", "allowedTargets"],
      },
    },
    limits: {
      type: "object",
      description: "The limits of this key (D22).",
      properties: {
        ratePerSecond: { ...COUNT, description: "Transactions a second." },
        rateBurst: { ...COUNT, description: "Transactions at once after a pause." },
        maxQueued: { ...COUNT, description: "Submissions of this key that may wait for a broadcast." },
        maxBatchSize: { ...COUNT, description: "Transactions in one request." },
        maxBodyBytes: { ...COUNT, description: "Bytes of a request's body, and of a frame." },
        maxGasLimit: { ...DECIMAL, description: "The highest gas limit of one InnerTx (D3)." },
        maxDataLength: { ...COUNT, description: "Bytes of calldata of one InnerTx (D3)." },
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
    },
    caps: CAPS,
  },
  required: ["chainId", "marker", "waits", "allowedTargets", "waivers", "limits"],
} as const satisfies Schema;
