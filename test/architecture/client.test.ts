import { testArrows } from "./testArrows.js";

// The entries are files directly in src. The actions and the socket send through http.
testArrows("client", {
  gasless: ["actions", "errors", "http"],
  socket: ["actions", "errors", "http"],
  actions: ["errors", "http"],
  http: ["errors"],
});
