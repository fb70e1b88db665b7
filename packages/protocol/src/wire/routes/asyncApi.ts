import { defineRoute, type Route } from "./routeDefinition.js";

export const ASYNC_API_ROUTE = {
  method: "GET",
  path: "/v1/asyncapi.json",
  authenticated: true,
} as const satisfies Route;

export default /* @__PURE__ */ defineRoute(() => ({
  summary: "Get the AsyncAPI 3 document",
  text: ["Every frame of the WebSocket with examples, and the close codes."],
  responses: { 200: { description: "An AsyncAPI 3 document.", contentType: "application/json" } },
  refusals: ["RATE_EXCEEDED"],
  curl: `curl "$URL/v1/asyncapi.json" -H "Authorization: Bearer $API_KEY" -o asyncapi.json`,
  schemas: {},
}));
