import type { RouteDescription } from "./RouteDescription.js";

export const POLICY: RouteDescription = {
  summary: "What this key may send",
  text: [
    "The contracts and methods that the waivers would carry for this key, of all of them together and of each alone, the key's limits, and what is left of its daily caps. What governance changes on the chain is in it as soon as the service has seen the block.",
  ],
  answers: {
    200: {
      description: "The policy.",
      contentType: "application/json",
      schema: "KeyPolicy",
      headers: ["Cache-Control"],
    },
  },
  refusals: ["STORE_UNAVAILABLE", "CHAIN_UNAVAILABLE"],
  curl: `curl "$URL/v1/policy" -H "Authorization: Bearer $API_KEY"`,
  sdk: "const { allowedTargets, limits } = await client.policy();",
};
