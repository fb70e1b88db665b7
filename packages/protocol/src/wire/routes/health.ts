import { define } from "../../define.js";
import { objectSchema } from "../schema.js";
import { fits, type Members, type TypeOf } from "../shape.js";
import { WireError } from "../wireError.js";
import { defineRoute, type Route } from "./routeDefinition.js";

export const HEALTH_ROUTE = {
  method: "GET",
  path: "/v1/health",
  authenticated: false,
} as const satisfies Route;

const HEALTH = {
  status: ["const", "ok"],
  /** The service's version. */
  version: "text",
  chainId: "number",
} as const satisfies Members;

/** The body of the response: the process serves requests (D24). */
export interface Health extends TypeOf<typeof HEALTH> {}

/**
 * Reads the body of a response of `GET /v1/health`.
 * @throws {@link WireError} if the value is not such a body.
 * @example
 * ```ts
 * const { version, chainId } = parseHealth(await response.json());
 * ```
 */
export function parseHealth(value: unknown): Health {
  if (!fits(HEALTH, value)) {
    throw new WireError("the answer is not the health of a gas-waiver service", value);
  }
  const { status, version, chainId } = value;
  return { status, version, chainId };
}

const HEALTH_SCHEMA = /* @__PURE__ */ define(() =>
  objectSchema(HEALTH, "The process serves requests (D24).", {
    version: "The service's version.",
    chainId: { type: "integer", minimum: 1, description: "988 mainnet, 2201 testnet and devnet (D27)." },
  }),
);

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
