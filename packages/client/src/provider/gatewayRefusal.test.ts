import { createWalletClient, custom } from "viem";
import { describe, expect, it } from "vitest";
import { gatewayRefusal, RequestRefusedError, SubmissionFailedError } from "../index.js";

const SENTENCE = "no waiver's policy allows this method";
const data = { reason: "TARGET_NOT_ALLOWED", id: "019e", details: { retry: "no" } };
const ofGateway = { code: -32003, message: `transaction rejected: ${SENTENCE}`, data };
const refusal = { ...data, message: SENTENCE };

describe("gatewayRefusal", () => {
  it.each([
    ["the gateway's own error", ofGateway],
    ["MetaMask's around it", { code: -32603, message: "Internal JSON-RPC error.", data: ofGateway }],
    [
      "ethers'",
      Object.assign(new Error("could not coalesce error"), { error: ofGateway, info: { payload: {} } }),
    ],
    ["a cause", new Error("wrapped", { cause: new Error("twice", { cause: ofGateway }) })],
  ])("is found in %s", (_, error) => {
    expect(gatewayRefusal(error)).toEqual(refusal);
  });

  it("is found in what viem throws for a wallet's error", async () => {
    const wallet = { request: async () => Promise.reject(ofGateway) };
    const client = createWalletClient({ transport: custom(wallet, { retryCount: 0 }) });
    const account = `0x${"a1".repeat(20)}` as const;
    const error = await client.sendTransaction({ account, chain: null, to: account }).catch((one) => one);
    expect(error.name).toBe("TransactionExecutionError");
    expect(gatewayRefusal(error)).toEqual(refusal);
  });

  it("is found in the client's own errors", () => {
    const body = { code: "VALIDATION_FAILED", reason: "TARGET_NOT_ALLOWED", message: SENTENCE } as const;
    const found = { reason: "TARGET_NOT_ALLOWED", message: SENTENCE };
    expect(gatewayRefusal(new RequestRefusedError(403, body, undefined))).toEqual(found);
    expect(gatewayRefusal(new SubmissionFailedError("019e", body))).toEqual({ ...found, id: "019e" });
  });

  it.each([
    ["the user's refusal", { code: 4001, message: "User rejected the request." }],
    ["a revert", { code: 3, message: "execution reverted: no", data: "0x08c379a0" }],
    ["ethers' revert reason", Object.assign(new Error("reverted"), { reason: "no", data: "0x" })],
    [
      "an error in a circle",
      Object.assign(new Error("round"), {
        get cause() {
          return this;
        },
      }),
    ],
    ["nothing", undefined],
  ])("is not in %s", (_, error) => {
    expect(gatewayRefusal(error)).toBeUndefined();
  });
});
