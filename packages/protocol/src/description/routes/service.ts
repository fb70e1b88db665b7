import type { RouteDescription } from "./RouteDescription.js";

export const HEALTH: RouteDescription = {
  summary: "Does the process serve?",
  text: ["Liveness and nothing else: neither the store nor the node is asked. The only route without a key."],
  answers: {
    200: { description: "It serves.", contentType: "application/json", schema: "Health" },
  },
  refusals: [],
  curl: `curl "$URL/v1/health"`,
  sdk: "const { version, chainId } = await client.health();",
};

export const READY: RouteDescription = {
  summary: "Can the service do its work?",
  text: [
    "Names the store, the node and the waivers, and whether each is well. A service that is not ready still takes what it can store: a node that is away delays submissions, and loses none.",
  ],
  answers: {
    200: {
      description: "It can.",
      contentType: "application/json",
      schema: "Readiness",
      examples: [0],
      headers: ["Cache-Control"],
    },
    503: {
      description: "It cannot; the parts say why.",
      contentType: "application/json",
      schema: "Readiness",
      examples: [1],
      headers: ["Cache-Control"],
    },
  },
  refusals: [],
  curl: `curl "$URL/v1/ready" -H "Authorization: Bearer $API_KEY"`,
  sdk: "const { ready, parts } = await client.ready();",
};
