import { createHash } from "node:crypto";
import { asyncApiOf, openApiOf } from "@gas-waiver/protocol/description";
import type { FastifyReply } from "fastify";
import { renderPage } from "../../docs/page.js";
import { STYLE } from "../../docs/style.js";
import type { AuthenticatedRequest } from "../authenticator.js";
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
  return serveJson(JSON.stringify(openApiOf(health)), readLimiter);
}

/** `GET /v1/asyncapi.json`: the WebSocket. */
export function serveAsyncApi({ health, readLimiter }: KeyedServices) {
  return serveJson(JSON.stringify(asyncApiOf(health)), readLimiter);
}

function serveJson(text: string, readLimiter: RouteServices["readLimiter"]) {
  return {
    handler({ caller }: AuthenticatedRequest, reply: FastifyReply): FastifyReply {
      readLimiter.count(caller, RECORDS_PER_DOCUMENT);
      return reply.type("application/json; charset=utf-8").send(text);
    },
  };
}

/** `GET /docs`: a page for people. It lies outside the versioned interface and needs no key. */
export function serveDocs({ health }: DescriptionServices) {
  const page = renderPage({
    version: health.version,
    documents: {
      "openapi.json": JSON.stringify(openApiOf(health)),
      "asyncapi.json": JSON.stringify(asyncApiOf(health)),
    },
  });
  return {
    handler: (_request: unknown, reply: FastifyReply) =>
      reply
        .type("text/html; charset=utf-8")
        .header("content-security-policy", PAGE_SECURITY_POLICY)
        .header("x-content-type-options", "nosniff")
        .send(page),
  };
}
