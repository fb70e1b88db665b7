import type { Schema } from "./Schema.js";

export const HEALTH_SCHEMA = {
  type: "object",
  description: "The process serves; nothing else is asked (D24).",
  properties: {
    status: { type: "string", const: "ok" },
    version: { type: "string", description: "The service's version." },
    chainId: { type: "integer", minimum: 1, description: "988 mainnet, 2201 testnet and devnet (D27)." },
  },
  required: ["status", "version", "chainId"],
} as const satisfies Schema;
