import { testArrows } from "./testArrows.js";

// The entries are files directly in src. The actions and the socket send through http; the provider reads addresses with it.
testArrows("client", {
  viemTransport: ["errors", "gasless"],
  bulk: ["actions", "errors", "http"],
  gasless: ["actions", "errors", "http"],
  socket: ["actions", "errors", "http"],
  provider: ["errors", "http"],
  forwarding: ["http"],
  actions: ["errors", "http"],
  http: ["errors"],
});
