import { HEADERS, ROUTE_DESCRIPTIONS } from "@gas-waiver/protocol/description";
import type { FastifyInstance, FastifyReply } from "fastify";
import { ANY_ORIGIN, isAllowedOrigin } from "../model/origins.js";
import { allowedMethods, pathOf } from "./paths.js";
import { addVary } from "./vary.js";

/** How long a browser may remember the answer to a preflight. */
const PREFLIGHT_MAX_AGE_SECONDS = 600;

/** What a page may send: the key, the body's type, and every header field that a route takes. */
const REQUEST_FIELDS = [
  "authorization",
  "content-type",
  ...Object.values(ROUTE_DESCRIPTIONS).flatMap(({ parameters = [] }) =>
    parameters.filter((one) => one.in === "header").map(({ name }) => name.toLowerCase()),
  ),
];
/** What a page may read besides the body. */
const EXPOSED_FIELDS = Object.keys(HEADERS).join(", ");

export interface CorsOptions {
  /** Whose pages may call the service; none: browsers keep those of other origins away. */
  readonly corsOrigins: readonly string[];
}

/**
 * Lets pages of other origins call the service (the Fetch standard's CORS). A preflight is answered before anybody asks
 * for the key, which browsers do not send with it; an OPTIONS that is none is refused like any other method. No cookies
 * are ever involved, so nothing is allowed with credentials.
 */
export function registerCors(app: FastifyInstance, { corsOrigins }: CorsOptions): void {
  if (corsOrigins.length === 0) return;
  const isAny = corsOrigins.includes(ANY_ORIGIN);
  app.addHook("onRequest", async (request, reply) => {
    const { origin } = request.headers;
    // Also where it is not allowed: a cache must not give that answer to those who are.
    if (!isAny) addVary(reply, "Origin");
    if (origin === undefined || !isAllowedOrigin(origin, corsOrigins)) return;
    reply.header("access-control-allow-origin", isAny ? ANY_ORIGIN : origin);
    const asked = request.headers["access-control-request-method"];
    if (request.method !== "OPTIONS" || asked === undefined) {
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
