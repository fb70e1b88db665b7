import { HEADERS, ROUTE_DEFINITIONS } from "@gas-waiver/protocol/description";
import type { FastifyInstance, FastifyReply } from "fastify";
import { ANY_ORIGIN, isAllowedOrigin, isOriginOfKey } from "../model/options/origins.js";
import { allowedMethods, pathOf } from "./paths.js";
import { addVary } from "./vary.js";

/** Browsers may reuse the answer to a preflight for this long. */
const PREFLIGHT_MAX_AGE_SECONDS = 600;

/** The header fields that a page may send: the key, the body's type, and every field that a route takes. */
const REQUEST_FIELDS = [
  "authorization",
  "content-type",
  ...Object.values(ROUTE_DEFINITIONS).flatMap(({ parameters = [] }) =>
    parameters.filter((parameter) => parameter.in === "header").map(({ name }) => name.toLowerCase()),
  ),
];
/** The header fields of a response that a page may read. */
const EXPOSED_FIELDS = Object.keys(HEADERS).join(", ");

export interface CorsOptions {
  /** The origins whose pages may call the service. Without any, browsers keep pages of other origins away. */
  readonly corsOrigins: readonly string[];
}

/** The origins that some publishable key permits (D32). A preflight names no key, so it passes for an origin of any of them. */
export type KeyOrigins = () => ReadonlySet<string>;

/**
 * Lets pages of other origins call the service (CORS of the Fetch standard). Preflights are answered before the
 * authentication, because browsers send no key with them. An OPTIONS request that is not a preflight is refused like any
 * other method. The service uses no cookies, so it never allows credentials.
 */
export function registerCors(
  app: FastifyInstance,
  options: CorsOptions,
  keyOrigins: KeyOrigins = () => new Set(),
): void {
  app.addHook("onRequest", async (request, reply) => {
    const { corsOrigins } = options;
    const isAny = corsOrigins.includes(ANY_ORIGIN);
    const { origin } = request.headers;
    const ofKeys = keyOrigins();
    if (corsOrigins.length === 0 && ofKeys.size === 0) return;
    // Also for origins that are not allowed: a cache must not give this response to those that are.
    if (!isAny) addVary(reply, "Origin");
    if (origin === undefined) return;
    if (!isAllowedOrigin(origin, corsOrigins) && !isOriginOfKey(origin, [...ofKeys])) return;
    reply.header("access-control-allow-origin", isAny ? ANY_ORIGIN : origin);
    const requestedMethod = request.headers["access-control-request-method"];
    if (request.method !== "OPTIONS" || requestedMethod === undefined) {
      reply.header("access-control-expose-headers", EXPOSED_FIELDS);
      return;
    }
    const methods = allowedMethods(pathOf(request.url));
    if (methods.length > 0) return await answerPreflight(reply, methods);
  });
}

function answerPreflight(reply: FastifyReply, methods: readonly string[]): FastifyReply {
  addVary(reply, "Access-Control-Request-Method");
  return reply
    .status(204)
    .header("access-control-allow-methods", methods.join(", "))
    .header("access-control-allow-headers", [...new Set(REQUEST_FIELDS)].join(", "))
    .header("access-control-max-age", PREFLIGHT_MAX_AGE_SECONDS)
    .send();
}
