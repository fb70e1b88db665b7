import { makeError } from "ethers";
import { BaseError, parseAbi } from "viem";
import { describe, expect, it } from "vitest";
import { SubmissionFailedError } from "./errors.js";
import { revertOf as revertOfEthers } from "./ethers.js";
import { revertOf as revertOfViem } from "./viem.js";

const SIGNATURE = "error TooMuch(uint256 asked, address by)";
const BY = `0x${"ab".repeat(20)}`;
/** TooMuch(42, 0xabab…). */
const DATA = `0xbb2318fe${"2a".padStart(64, "0")}${BY.slice(2).padStart(64, "0")}`;

const libraries = {
  viem: (error: Parameters<typeof revertOfViem>[0]) => revertOfViem(error, parseAbi([SIGNATURE])),
  ethers: (error: Parameters<typeof revertOfEthers>[0]) => revertOfEthers(error, [SIGNATURE]),
};

const reverted = (details: object) =>
  new SubmissionFailedError("an id", {
    code: "BROADCAST_FAILED",
    reason: "REVERTED",
    message: "reverted",
    details: { ...details },
  });

describe.each(Object.entries(libraries))("the reason of a revert, with %s", (_, revertOf) => {
  it("is the contract's own error with its arguments, where the ABI has it", () => {
    const { message, ...rest } = revertOf(reverted({ cause: "custom", revertData: DATA })) ?? {};
    expect(rest).toMatchObject({ cause: "custom", name: "TooMuch", args: [42n, expect.any(String)] });
    expect(message?.toLowerCase()).toBe(`toomuch(42, ${BY})`);
  });

  it.each([
    [
      "the service's words for an unknown error",
      { cause: "custom", revertData: "0x01020304", causeMessage: "own" },
      "own",
    ],
    [
      "the service's words for data that the error does not fit",
      { revertData: DATA.slice(0, 20), causeMessage: "own" },
      "own",
    ],
    ["the contract's text", { cause: "error", causeMessage: "no tokens left" }, "no tokens left"],
    ["that nobody knows it", {}, "the service could not find out why it reverted"],
  ])("is %s", (_case, details, message) => {
    expect(revertOf(reverted(details))?.message).toBe(message);
  });

  it("is undefined for another error", () => {
    expect(revertOf({ reason: "NONCE_GAP", details: { revertData: DATA } })).toBeUndefined();
  });

  it.each<[string, unknown]>([
    ["a node", { code: 3, message: "execution reverted", data: DATA }],
    ["viem", new BaseError("estimate", { cause: Object.assign(new Error("rpc"), { code: 3, data: DATA }) })],
    [
      "viem's transport",
      new BaseError("not sent", { cause: reverted({ cause: "custom", revertData: DATA }) }),
    ],
    ["ethers", makeError("reverted", "CALL_EXCEPTION", { data: DATA } as never)],
    [
      "ethers, without the data",
      makeError("x", "UNKNOWN_ERROR", { error: { code: 3, data: DATA } } as never),
    ],
  ])("is found in the error of %s", (_name, error) => {
    expect(revertOf(error)).toMatchObject({ name: "TooMuch", args: [42n, expect.any(String)] });
  });

  const NODE = { code: 3, message: "execution reverted" };
  const TEXT = `0x08c379a0${"20".padStart(64, "0")}${"6".padStart(64, "0")}${"706175736564".padEnd(64, "0")}`;
  it.each<[string, unknown, object]>([
    ["without data", { ...NODE, data: "0x" }, { cause: "empty", message: "without a reason" }],
    ["without the member", NODE, { cause: "empty", message: "without a reason" }],
    ["with a text", { ...NODE, data: TEXT }, { cause: "error", message: expect.stringContaining("paused") }],
    ["with an error of its own", { ...NODE, data: DATA }, { cause: "custom", name: "TooMuch" }],
    [
      "for want of gas",
      { code: -32000, message: "out of gas" },
      { cause: "out_of_gas", message: "out of gas" },
    ],
  ])("has the cause of a node's error %s", (_name, node, expected) => {
    const rpc = Object.assign(new Error("RPC Request failed."), Object(node), { cause: node });
    expect(revertOf(node)).toMatchObject(expected);
    expect(
      revertOf(new BaseError("Execution reverted for an unknown reason.", { cause: rpc })),
    ).toMatchObject(expected);
    const ofEthers = makeError("missing revert data", "CALL_EXCEPTION", { info: { error: node } } as never);
    expect(revertOf(ofEthers)).toMatchObject(expected);
  });

  it("is not seen in errors of other kinds", () => {
    const unpaid = { code: -32000, message: "gas required exceeds allowance (0)" };
    const words = new BaseError("Execution reverted with reason: gas required exceeds allowance (0).", {
      cause: Object.assign(new Error("RPC Request failed."), { code: -32000, cause: unpaid }),
    });
    for (const error of [undefined, "no", new Error("away"), { data: "0x" }, new BaseError("timeout"), words])
      expect(revertOf(error)).toBeUndefined();
  });
});
