import { defineRoute, type Route } from "./routeDefinition.js";

/** A page for people, outside the versioned interface. It needs no key, because a browser that opens it sends none. */
export const DOCS_ROUTE = { method: "GET", path: "/docs", authenticated: false } as const satisfies Route;

export default /* @__PURE__ */ defineRoute(() => ({
  summary: "Get the reference as a page",
  text: [
    "The whole reference on one page, for a browser. The page needs no key and loads nothing else. It is not part of the versioned interface.",
  ],
  responses: { 200: { description: "A page of HTML.", contentType: "text/html" } },
  refusals: [],
  curl: `curl "$URL/docs"`,
  schemas: {},
}));
