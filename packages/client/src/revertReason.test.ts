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
    ["a wallet", { code: -32_603, message: "Internal", data: { code: 3, data: DATA } }],
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

  it("is not seen in errors of other kinds", () => {
    const error = { code: -32_000, message: "request timed out" };
    const ofEthers = makeError("missing revert data", "CALL_EXCEPTION", { info: { error } } as never);
    const data = { reason: "NONCE_OUT_OF_RANGE" };
    const ofGateway = { code: -32_000, message: "the nonce is out of range", data };
    const others = [undefined, "no", new Error("away"), { data: "0x" }, new BaseError("timeout")];
    for (const one of [...others, ofEthers, ofGateway]) expect(revertOf(one)).toBeUndefined();
  });
});
