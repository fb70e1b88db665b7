import { createHash } from "node:crypto";
import { ROUTES } from "@gas-waiver/protocol";
import { asyncApiOf, openApiOf } from "@gas-waiver/protocol/description";
import type { FastifyInstance } from "fastify";
import { renderPage } from "../../docs/page.js";
import { STYLE } from "../../docs/style.js";
import type { Authenticator } from "../auth.js";

export interface DescriptionsDependencies {
  readonly authenticator: Authenticator;
  /** The service's version. */
  readonly version: string;
}

/** The page needs its own style, and nothing else. */
const POLICY = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/**
 * What the service says of itself: OpenAPI and AsyncAPI with a key as every endpoint but health (section 5), and the
 * page for people, which is none of the document's endpoints. Made once, at the start.
 */
export function registerDescriptions(
  app: FastifyInstance,
  { authenticator, version }: DescriptionsDependencies,
): void {
  const openApi = JSON.stringify(openApiOf({ version }));
  const asyncApi = JSON.stringify(asyncApiOf({ version }));
  for (const [route, text] of [
    [ROUTES.openApi, openApi],
    [ROUTES.asyncApi, asyncApi],
  ] as const) {
    app.route({
      method: route.method,
      url: route.path,
      onRequest: async (request) => {
        request.caller = authenticator.authenticate(request.headers.authorization);
      },
      handler: (_request, reply) => reply.type("application/json; charset=utf-8").send(text),
    });
  }
  const page = renderPage({
    version,
    documents: { "openapi.json": openApi, "asyncapi.json": asyncApi },
  });
  app.route({
    method: ROUTES.docs.method,
    url: ROUTES.docs.path,
    handler: (_request, reply) =>
      reply
        .type("text/html; charset=utf-8")
        .header("content-security-policy", POLICY)
        .header("x-content-type-options", "nosniff")
        .send(page),
  });
}
