import { defineRoute, type Route } from "./routeDefinition.js";

export const OPEN_API_ROUTE = {
  method: "GET",
  path: "/v1/openapi.json",
  authenticated: true,
} as const satisfies Route;

export default /* @__PURE__ */ defineRoute(() => ({
  summary: "Get the OpenAPI 3.1 document",
  text: [
    "Every route under `/v1/` with its parameters, bodies, responses and errors, for generators and API tools. The document comes from the definitions that the service itself uses.",
  ],
  responses: { 200: { description: "An OpenAPI 3.1 document.", contentType: "application/json" } },
  refusals: ["RATE_EXCEEDED"],
  curl: `curl "$URL/v1/openapi.json" -H "Authorization: Bearer $API_KEY" -o openapi.json`,
  schemas: {},
}));
