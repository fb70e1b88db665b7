import { describe, expect, it } from "vitest";
import { CommandFailedError, errorMessage } from "./errorMessage.js";

const systemError = (fields: object) => Object.assign(new Error("what the system says"), fields);

describe("errorMessage", () => {
  it.each([
    [{ code: "EADDRINUSE", address: "::1", port: 80 }, "port 80 of ::1 is in use by another program"],
    [
      { code: "EACCES", address: "::1", port: 80 },
      "port 80 of ::1 needs rights that this user does not have",
    ],
    [{ code: "EADDRNOTAVAIL", address: "1.1.1.1" }, "1.1.1.1 is not an address of this machine"],
    [{ code: "EEXIST", syscall: "mkdir", path: "keystore" }, "what the system says"],
    [{ code: "ENOTFOUND", hostname: "nowhere" }, "there is no address for the host name nowhere"],
  ])("of %j is %j", (fields, message) => {
    expect(errorMessage(systemError(fields))).toBe(message);
  });

  it("is the message of a CommandFailedError", () => {
    expect(errorMessage(new CommandFailedError("the chain is away"))).toBe("the chain is away");
  });

  it("has the stack of any other error", () => {
    expect(errorMessage(new TypeError("no such thing"))).toMatch(
      /^unexpected error: TypeError: no such thing\n/,
    );
    expect(errorMessage("thrown")).toBe("thrown");
  });
});
