import { testArrows } from "./testArrows.js";

// A request comes in at the top and goes through the intake to the lanes. The store and its model are at the bottom.
testArrows("server", {
  admin: ["http", "keys", "model", "store"],
  http: ["check", "docs", "gateway", "health", "intake", "keys", "lane", "model", "policy", "store", "util"],
  gateway: ["chain", "health", "intake", "model", "policy", "store", "util"],
  custody: ["model", "signing"],
  preflight: ["chain", "model", "policy", "store", "util"],
  docs: [],
  health: ["chain", "model", "store", "util"],
  check: ["chain", "model", "policy", "results", "store", "util"],
  intake: ["lane", "model", "policy", "results", "store", "util"],
  keys: ["model", "store", "util"],
  maintenance: ["chain", "model", "results", "store", "util"],
  lane: ["chain", "model", "policy", "results", "signing", "store", "util"],
  policy: ["chain", "model", "store", "util"],
  results: ["model", "store", "util"],
  signing: ["model", "util"],
  chain: ["model", "store", "util"],
  store: ["model", "util"],
  model: [],
  util: [],
});
