import { expect, it } from "vitest";
import * as entry from "./index.js";

it("exports these functions, and no parts of them that are exported for other files", () => {
  const names = Object.keys(entry).filter((name) => !name.endsWith("Error"));
  expect(names.sort()).toEqual([
    "announceProvider",
    "check",
    "connect",
    "createConnection",
    "createWaiverClient",
    "detailsOf",
    "gaslessProvider",
    "gatewayRefusal",
    "health",
    "list",
    "listPage",
    "policy",
    "ready",
    "status",
    "submit",
    "submitAll",
    "wait",
  ]);
});
