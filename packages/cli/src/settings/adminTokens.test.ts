import { describe, expect, it } from "vitest";
import { adminTokens } from "./serviceValues.js";

const TOKEN = "0f7c1e93b5d842a6d90e5b28c73f614a";

describe("admin tokens", () => {
  it("have a name, a role and an expiry, each of which may be left out", () => {
    expect(adminTokens(TOKEN)).toEqual([{ name: "admin", token: TOKEN, role: "admin" }]);
    const list = `alice:${TOKEN}1, bob/viewer:${TOKEN}2`;
    expect(adminTokens(`${list}\ncarol/operator/2030-01-31:${TOKEN}3`)).toEqual([
      { name: "alice", token: `${TOKEN}1`, role: "admin" },
      { name: "bob", token: `${TOKEN}2`, role: "viewer" },
      { name: "carol", token: `${TOKEN}3`, role: "operator", expiresAt: new Date("2030-01-31T00:00:00Z") },
    ]);
  });

  it.each([
    [" ,", "holds no admin token"],
    ["alice:short", "position 1 no usable token: 32 to 256"],
    ["alice:abcabcabcabcabcabcabcabcabcabcabc", "position 1 a weak token, which repeats itself"],
    [`${TOKEN},bob/boss:${TOKEN}`, "position 2 no role of viewer, operator, admin"],
    [`bob/viewer/soon:${TOKEN}`, "position 1 no expiry such as 2030-01-31"],
    [`bob/viewer/2030-13-31:${TOKEN}`, "position 1 no expiry such as 2030-01-31"],
    [`bob/viewer/2030-01-31/x:${TOKEN}`, "position 1 no expiry such as 2030-01-31"],
  ])("%j are refused", (list, problem) => {
    expect(() => adminTokens(list)).toThrow(problem);
    expect(() => adminTokens(list)).not.toThrow(TOKEN);
  });
});
