import { describe, expect, it } from "vitest";
import { CommandFailedError, errorMessage } from "./errorMessage.js";

const systemError = (fields: object) => Object.assign(new Error("what the system says"), fields);

describe("the sentence of an error", () => {
  it.each([
    [{ code: "EADDRINUSE", address: "::1", port: 80 }, "port 80 of ::1 is in use by another program"],
    [
      { code: "EACCES", address: "::1", port: 80 },
      "port 80 of ::1 needs rights that this user does not have",
    ],
    [{ code: "EADDRNOTAVAIL", address: "1.1.1.1", port: 0 }, "1.1.1.1 is not an address of this machine"],
    [{ code: "ENOTFOUND", hostname: "nowhere" }, "there is no address for the host name nowhere"],
  ])("%j is %j", (fields, sentence) => {
    expect(errorMessage(systemError(fields))).toBe(sentence);
  });

  it("is the command's own where it has one", () => {
    expect(errorMessage(new CommandFailedError("the chain is away"))).toBe("the chain is away");
  });

  it("says of a defect where it was", () => {
    expect(errorMessage(new TypeError("no such thing"))).toMatch(
      /^unexpected error: TypeError: no such thing\n/,
    );
    expect(errorMessage("thrown")).toBe("thrown");
  });
});
