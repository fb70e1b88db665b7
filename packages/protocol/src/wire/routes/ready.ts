import { define } from "../../define.js";
import { objectSchema } from "../schema.js";
import { type Members, readShape, type TypeOf } from "../shape.js";
import { defineRoute, type Route } from "./routeDefinition.js";

export const READY_ROUTE = { method: "GET", path: "/v1/ready", authenticated: true } as const satisfies Route;

const PART = {
  ok: "boolean",
  /** The problem, for a person. */
  message: "text?",
} as const satisfies Members;

/** The state of one thing that the service depends on. */
export interface ReadyPart extends TypeOf<typeof PART> {}

const WAIVERS = { ...PART, usable: "number" } as const satisfies Members;

const READINESS = {
  ready: "boolean",
  parts: {
    store: PART,
    chain: PART,
    /** `usable` is the number of lanes that accept work. One is enough. */
    waivers: WAIVERS,
    /** Present while the service shuts down. */
    service: ["optional", PART],
  },
} as const satisfies Members;

/** The body of the response: whether the service can do its work (D24). The status is 200 if it can, else 503. */
export interface Readiness extends TypeOf<typeof READINESS> {}

/**
 * Reads the body of a response of `GET /v1/ready`, of either status.
 * @throws {@link WireError} if the value is not such a body.
 * @example
 * ```ts
 * const { ready, parts } = parseReadiness(await response.json());
 * if (!ready) console.warn(parts.chain.message);
 * ```
 */
export function parseReadiness(value: unknown): Readiness {
  return readShape(READINESS, value, "the answer is not the readiness of a gas-waiver service");
}

const READINESS_SCHEMA = /* @__PURE__ */ define(() => {
  const message = "The problem, for a person.";
  const part = objectSchema(PART, undefined, { message });
  const parts = objectSchema(READINESS.parts, undefined, {
    store: part,
    chain: part,
    waivers: objectSchema(WAIVERS, undefined, {
      message,
      usable: {
        type: "integer",
        minimum: 0,
        description: "The number of lanes that accept work. One is enough.",
      },
    }),
    service: { ...part, description: "Present while the service shuts down." },
  });
  return objectSchema(
    READINESS,
    "Whether the service can do its work, with each thing that it depends on (D24).",
    { parts },
  );
});

export default /* @__PURE__ */ defineRoute(() => ({
  summary: "Readiness",
  text: [
    "Tells whether the service can do its work, and names the state of the store, the node and the waivers. A service that is not ready still accepts what it can store: a node that is away delays submissions and loses none.",
  ],
  responses: {
    200: {
      description: "The service can do its work.",
      contentType: "application/json",
      schema: READINESS_SCHEMA,
      examples: [0],
      headers: ["Cache-Control"],
    },
    503: {
      description: "The service cannot do its work. The parts say why.",
      contentType: "application/json",
      schema: READINESS_SCHEMA,
      examples: [1],
      headers: ["Cache-Control"],
    },
  },
  refusals: [],
  curl: `curl "$URL/v1/ready" -H "Authorization: Bearer $API_KEY"`,
  sdk: "const { ready, parts } = await client.ready();",
  schemas: {
    Readiness: {
      schema: READINESS_SCHEMA,
      examples: [
        {
          ready: true,
          parts: { store: { ok: true }, chain: { ok: true }, waivers: { ok: true, usable: 2 } },
        },
        {
          ready: false,
          parts: {
            store: { ok: true },
            chain: { ok: false, message: "the node cannot be used" },
            waivers: { ok: false, message: "no lane takes work", usable: 0 },
            service: { ok: false, message: "the service is shutting down" },
          },
        },
      ],
      read: parseReadiness,
    },
  },
}));
