import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { asyncApiOf, openApiOf } from "@gas-waiver/protocol/description";
import type { FastifyReply } from "fastify";
import { renderPage } from "../../docs/page.js";
import { STYLE } from "../../docs/style.js";
import type { ApiRequest, AuthenticatedRequest } from "../authenticator.js";
import { prefixOf } from "../requestHost.js";
import type { RouteServices } from "./routeHandler.js";

type DescriptionServices = Pick<RouteServices, "health">;
type KeyedServices = Pick<RouteServices, "health" | "readLimiter">;

/** A document is as large as a page of this many records, and costs as much. */
const RECORDS_PER_DOCUMENT = 40;

const STYLE_HASH = createHash("sha256").update(STYLE).digest("base64");
/** Lets the page use its own style, and load nothing. */
const PAGE_SECURITY_POLICY = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** `GET /v1/openapi.json`: the HTTP interface. */
export function serveOpenApi({ health, readLimiter }: KeyedServices) {
  return serveJson((basePath) => JSON.stringify(openApiOf({ ...health, basePath })), readLimiter);
}

/** `GET /v1/asyncapi.json`: the WebSocket. */
export function serveAsyncApi({ health, readLimiter }: KeyedServices) {
  return serveJson((basePath) => JSON.stringify(asyncApiOf({ ...health, basePath })), readLimiter);
}

function serveJson(textAt: (basePath: string) => string, readLimiter: RouteServices["readLimiter"]) {
  const text = onceForEachPrefix(textAt);
  return {
    handler({ caller, raw }: AuthenticatedRequest, reply: FastifyReply): FastifyReply {
      readLimiter.count(caller, RECORDS_PER_DOCUMENT);
      return reply.type("application/json; charset=utf-8").send(text(raw));
    },
  };
}

/**
 * Makes a text when it is first asked for, and keeps it for each prefix of the paths. A network has one at most, beside the
 * requests that come without.
 */
function onceForEachPrefix(textAt: (basePath: string) => string): (request: IncomingMessage) => string {
  const texts = new Map<string, string>();
  return (request) => {
    const prefix = prefixOf(request);
    const text = texts.get(prefix) ?? textAt(prefix);
    texts.set(prefix, text);
    return text;
  };
}

/** `GET /docs`: a page for people. It lies outside the versioned interface and needs no key. */
export function serveDocs({ health }: DescriptionServices) {
  const page = onceForEachPrefix((basePath) =>
    renderPage({
      version: health.version,
      documents: {
        "openapi.json": JSON.stringify(openApiOf({ ...health, basePath })),
        "asyncapi.json": JSON.stringify(asyncApiOf({ ...health, basePath })),
      },
    }),
  );
  return {
    handler: ({ raw }: ApiRequest, reply: FastifyReply) =>
      reply
        .type("text/html; charset=utf-8")
        .header("content-security-policy", PAGE_SECURITY_POLICY)
        .header("x-content-type-options", "nosniff")
        .send(page(raw)),
  };
}
