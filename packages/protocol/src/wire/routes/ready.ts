import { defineSchema } from "../schema.js";
import { isOptionalText, membersOf } from "../values.js";
import { WireError } from "../wireError.js";
import { defineRoute, type Route } from "./routeDefinition.js";

export const READY_ROUTE = { method: "GET", path: "/v1/ready", authenticated: true } as const satisfies Route;

/** The state of one thing that the service depends on. */
export interface ReadyPart {
  readonly ok: boolean;
  /** The problem, for a person. */
  readonly message?: string;
}

/** The body of the response: whether the service can do its work (D24). The status is 200 if it can, else 503. */
export interface Readiness {
  readonly ready: boolean;
  readonly parts: {
    readonly store: ReadyPart;
    readonly chain: ReadyPart;
    /** `usable` is the number of lanes that accept work. One is enough. */
    readonly waivers: ReadyPart & { readonly usable: number };
    /** Present while the service shuts down. */
    readonly service?: ReadyPart;
  };
}

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
  const { ready, parts } = membersOf(value);
  const { store, chain, waivers, service } = membersOf(parts);
  const isReadiness =
    typeof ready === "boolean" &&
    [store, chain, waivers].every(isPart) &&
    typeof membersOf(waivers).usable === "number" &&
    (service === undefined || isPart(service));
  if (!isReadiness) throw new WireError("the answer is not the readiness of a gas-waiver service", value);
  return value as Readiness;
}

function isPart(value: unknown): boolean {
  const { ok, message } = membersOf(value);
  return typeof ok === "boolean" && isOptionalText(message);
}

const MESSAGE = /* @__PURE__ */ defineSchema(() => ({
  type: "string",
  description: "The problem, for a person.",
}));

const PART = /* @__PURE__ */ defineSchema(() => ({
  type: "object",
  properties: { ok: { type: "boolean" }, message: MESSAGE },
  required: ["ok"],
}));

const READINESS_SCHEMA = /* @__PURE__ */ defineSchema(() => ({
  type: "object",
  description: "Whether the service can do its work, with each thing that it depends on (D24).",
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
            ok: { type: "boolean" },
            message: MESSAGE,
            usable: {
              type: "integer",
              minimum: 0,
              description: "The number of lanes that accept work. One is enough.",
            },
          },
          required: ["ok", "usable"],
        },
        service: { ...PART, description: "Present while the service shuts down." },
      },
      required: ["store", "chain", "waivers"],
    },
  },
  required: ["ready", "parts"],
}));

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
