import type { RouteDescription } from "./RouteDescription.js";

export const OPEN_API: RouteDescription = {
  summary: "The interface as OpenAPI 3.1",
  text: [
    "Every route with its parameters, bodies, answers and errors, made from the definitions that the service itself runs on. Generators and API tools read it.",
  ],
  answers: { 200: { description: "An OpenAPI 3.1 document.", contentType: "application/json" } },
  refusals: [],
  curl: `curl "$URL/v1/openapi.json" -H "Authorization: Bearer $API_KEY" -o openapi.json`,
};

export const ASYNC_API: RouteDescription = {
  summary: "The WebSocket as AsyncAPI 3",
  text: ["Every frame of the WebSocket with examples, and the close codes."],
  answers: { 200: { description: "An AsyncAPI 3 document.", contentType: "application/json" } },
  refusals: [],
  curl: `curl "$URL/v1/asyncapi.json" -H "Authorization: Bearer $API_KEY" -o asyncapi.json`,
};

export const DOCS: RouteDescription = {
  summary: "The reference for people",
  text: [
    "One page with all of this, for a browser. It needs no key and loads nothing else. It is no part of the versioned interface.",
  ],
  answers: { 200: { description: "A page of HTML.", contentType: "text/html" } },
  refusals: [],
  curl: `curl "$URL/docs"`,
};
