import { testArrows } from "./testArrows.js";

// The entries are files directly in src. The actions, the socket and the provider send through http.
testArrows("client", {
  waiverRelay: ["bulk", "errors", "gasless", "http"],
  viemTransport: ["errors", "gasless"],
  ethersSigner: ["errors", "gasless"],
  bulk: ["actions", "errors", "http"],
  hooks: ["actions", "errors", "http", "provider", "socket"],
  provider: ["actions", "errors", "gasless", "http"],
  gasless: ["actions", "errors", "http"],
  socket: ["actions", "errors", "http"],
  forwarding: ["errors", "http"],
  actions: ["errors", "http"],
  http: ["errors"],
});
