import type { Schema } from "./Schema.js";

const OK = { type: "boolean" } as const satisfies Schema;
const MESSAGE = {
  type: "string",
  description: "What is wrong with it, for a person.",
} as const satisfies Schema;

const PART = {
  type: "object",
  properties: { ok: OK, message: MESSAGE },
  required: ["ok"],
} as const satisfies Schema;

export const READINESS_SCHEMA = {
  type: "object",
  description: "Whether the service can do its work, and each part that it needs (D24).",
  properties: {
    ready: { type: "boolean" },
    parts: {
      type: "object",
      properties: {
        store: PART,
        chain: PART,
        waivers: {
          type: "object",
          properties: {
            ok: OK,
            message: MESSAGE,
            usable: { type: "integer", minimum: 0, description: "Lanes that take work; one is enough." },
          },
          required: ["ok", "usable"],
        },
        service: { ...PART, description: "Only there when the service is shutting down." },
      },
      required: ["store", "chain", "waivers"],
    },
  },
  required: ["ready", "parts"],
} as const satisfies Schema;
