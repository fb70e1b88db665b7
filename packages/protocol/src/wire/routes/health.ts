import { defineSchema } from "../schema.js";
import { WireError } from "../wireError.js";
import { defineRoute, type Route } from "./routeDefinition.js";

export const HEALTH_ROUTE = {
  method: "GET",
  path: "/v1/health",
  authenticated: false,
} as const satisfies Route;

/** The body of the response: the process serves requests (D24). */
export interface Health {
  readonly status: "ok";
  /** The service's version. */
  readonly version: string;
  readonly chainId: number;
}

/**
 * Reads the body of a response of `GET /v1/health`.
 * @throws {@link WireError} if the value is not such a body.
 * @example
 * ```ts
 * const { version, chainId } = parseHealth(await response.json());
 * ```
 */
export function parseHealth(value: unknown): Health {
  if (typeof value === "object" && value !== null) {
    const { status, version, chainId } = value as Record<string, unknown>;
    if (status === "ok" && typeof version === "string" && typeof chainId === "number") {
      return { status, version, chainId };
    }
  }
  throw new WireError("the answer is not the health of a gas-waiver service", value);
}

const HEALTH_SCHEMA = /* @__PURE__ */ defineSchema(() => ({
  type: "object",
  description: "The process serves requests (D24).",
  properties: {
    status: { type: "string", const: "ok" },
    version: { type: "string", description: "The service's version." },
    chainId: { type: "integer", minimum: 1, description: "988 mainnet, 2201 testnet and devnet (D27)." },
  },
  required: ["status", "version", "chainId"],
}));

export default /* @__PURE__ */ defineRoute(() => ({
  summary: "Liveness",
  text: [
    "Answers as long as the process serves requests. It asks neither the store nor the node. It is the only route under `/v1` without a key.",
  ],
  responses: {
    200: {
      description: "The process serves requests.",
      contentType: "application/json",
      schema: HEALTH_SCHEMA,
    },
  },
  refusals: [],
  curl: `curl "$URL/v1/health"`,
  sdk: "const { version, chainId } = await client.health();",
  schemas: {
    Health: {
      schema: HEALTH_SCHEMA,
      examples: [{ status: "ok", version: "0.1.0", chainId: 2201 }],
      read: parseHealth,
    },
  },
}));
