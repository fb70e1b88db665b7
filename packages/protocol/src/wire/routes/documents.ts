import { defineRoute, type Route } from "./routeDefinition.js";

export const OPEN_API_ROUTE = {
  method: "GET",
  path: "/v1/openapi.json",
  authenticated: true,
} as const satisfies Route;

export const openApi = /* @__PURE__ */ defineRoute(() => ({
  summary: "Get the OpenAPI 3.1 document",
  text: [
    "Every route under `/v1/` with its parameters, bodies, responses and errors, for generators and API tools. The document comes from the definitions that the service itself uses.",
  ],
  responses: { 200: { description: "An OpenAPI 3.1 document.", contentType: "application/json" } },
  refusals: ["RATE_EXCEEDED"],
  curl: `curl "$URL/v1/openapi.json" -H "Authorization: Bearer $API_KEY" -o openapi.json`,
  schemas: {},
}));

export const ASYNC_API_ROUTE = {
  method: "GET",
  path: "/v1/asyncapi.json",
  authenticated: true,
} as const satisfies Route;

export const asyncApi = /* @__PURE__ */ defineRoute(() => ({
  summary: "Get the AsyncAPI 3 document",
  text: ["Every frame of the WebSocket with examples, and the close codes."],
  responses: { 200: { description: "An AsyncAPI 3 document.", contentType: "application/json" } },
  refusals: ["RATE_EXCEEDED"],
  curl: `curl "$URL/v1/asyncapi.json" -H "Authorization: Bearer $API_KEY" -o asyncapi.json`,
  schemas: {},
}));

/** A page for people, outside the versioned interface. It needs no key, because a browser that opens it sends none. */
export const DOCS_ROUTE = { method: "GET", path: "/docs", authenticated: false } as const satisfies Route;

export const docs = /* @__PURE__ */ defineRoute(() => ({
  summary: "Get the reference as a page",
  text: [
    "The whole reference on one page, for a browser. The page needs no key and loads nothing else. It is not part of the versioned interface.",
  ],
  responses: { 200: { description: "A page of HTML.", contentType: "text/html" } },
  refusals: [],
  curl: `curl "$URL/docs"`,
  schemas: {},
}));
