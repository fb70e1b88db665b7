import { ProtocolError, type RouteName } from "@gas-waiver/protocol";
import { ROUTE_DEFINITIONS } from "@gas-waiver/protocol/description";
import type { onRequestHookHandler } from "fastify";

/** Refuses a query parameter that the route does not have: a misspelt one would change the answer in silence. */
export function refuseUnknownParameters(route: RouteName): onRequestHookHandler {
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
