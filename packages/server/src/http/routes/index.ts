import { ProtocolError, ROUTES, type RouteName } from "@gas-waiver/protocol";
import { ROUTE_DEFINITIONS } from "@gas-waiver/protocol/description";
import type { FastifyInstance, onRequestHookHandler, RouteHandlerMethod } from "fastify";
import { type AuthenticatedRequest, requireApiKey } from "../authenticator.js";
import { prefixOf } from "../requestHost.js";
import { serveCheck } from "./check.js";
import { serveAsyncApi, serveDocs, serveOpenApi } from "./descriptions.js";
import { servePolicy } from "./policy.js";
import { serveHealth, serveReady } from "./ready.js";
import type { CreateRouteHandler, RouteServices } from "./routeHandler.js";
import { serveSocket } from "./socket.js";
import { serveSubmission } from "./submission.js";
import { serveSubmissions } from "./submissions.js";
import { serveSubmit } from "./submit.js";

/** The handler of every route that the protocol defines. A route without one does not compile. */
const HANDLERS: { readonly [Name in RouteName]: CreateRouteHandler<Name> } = {
  health: serveHealth,
  ready: serveReady,
  submit: serveSubmit,
  socket: serveSocket,
  check: serveCheck,
  policy: servePolicy,
  submissions: serveSubmissions,
  submission: serveSubmission,
  openApi: serveOpenApi,
  asyncApi: serveAsyncApi,
  docs: serveDocs,
};

/**
 * The routes that a publishable key may use (D32). The other routes show other clients' submissions, or the state of the
 * service.
 */
const PUBLISHABLE_ROUTES: ReadonlySet<RouteName> = new Set([
  "submit",
  "socket",
  "check",
  "policy",
  "submission",
]);

/** Registers all routes, those that need an API key in one scope with one authentication. */
export function registerRoutes(app: FastifyInstance, services: RouteServices): void {
  const names = Object.keys(HANDLERS) as RouteName[];
  for (const name of names) if (!ROUTES[name].authenticated) registerRoute(app, name, services);
  // A browser that opens the service's address shows the reference.
  app.get("/", ({ raw }, reply) => reply.redirect(`${prefixOf(raw)}${ROUTES.docs.path}`));
  app.register(async (scope) => {
    requireApiKey(scope, services.authenticator);
    for (const name of names) {
      if (!ROUTES[name].authenticated) continue;
      if (PUBLISHABLE_ROUTES.has(name)) registerRoute(scope, name, services);
      else scope.register(async (inner) => registerSecretRoute(inner, name, services));
    }
  });
}

/** Registers a route that refuses publishable keys, before the body is read. */
function registerSecretRoute(scope: FastifyInstance, name: RouteName, services: RouteServices): void {
  scope.addHook("onRequest", async (request) => {
    if ((request as AuthenticatedRequest).caller.publishable === undefined) return;
    const message =
      "a publishable key submits, checks, reads its policy and the records that it names by hash; this takes a secret key";
    throw new ProtocolError("KEY_IS_PUBLISHABLE", message);
  });
  registerRoute(scope, name, services);
}

function registerRoute(scope: FastifyInstance, name: RouteName, services: RouteServices): void {
  const { method, path } = ROUTES[name];
  const { handler, onRequest } = HANDLERS[name](services);
  const checks = [refuseUnknownParameters(name), ...(onRequest ? [onRequest] : [])];
  // The scope's hook makes the request an authenticated one before the handler runs.
  scope.route({ method, url: path, onRequest: checks, handler: handler as RouteHandlerMethod });
}

/** Refuses a query parameter that the route does not have: a misspelt one would change the answer in silence. */
function refuseUnknownParameters(route: RouteName): onRequestHookHandler {
  const { parameters = [] } = ROUTE_DEFINITIONS[route];
  const names = parameters.flatMap((one) => (one.in === "query" ? [one.name] : []));
  return async ({ query }) => {
    const parameter = Object.keys(Object(query)).find((name) => !names.includes(name));
    if (parameter === undefined) return;
    const known = names.length > 0 ? `there are ${names.join(", ")}` : "this route has none";
    const message = `there is no parameter ${JSON.stringify(parameter)}; ${known}`;
    throw new ProtocolError("MALFORMED_QUERY", message, { parameter });
  };
}
