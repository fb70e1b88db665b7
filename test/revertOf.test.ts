// The reasons that `revertOf` finds in the errors of viem and ethers, which a node of the chain has caused.
import { InvalidArgumentError } from "@gas-waiver/client";
import { GasWaiverSigner, revertOf as revertOfEthers } from "@gas-waiver/client/ethers";
import { gasWaiverActions, gasWaiverTransport, revertOf as revertOfViem } from "@gas-waiver/client/viem";
import { createDevnet, type Devnet } from "@gas-waiver/devnet";
import { Interface, type JsonRpcProvider } from "ethers";
import { BaseError, createWalletClient, type Hex, http, parseAbi, toFunctionSelector } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { hardhat } from "viem/chains";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { account, CHAIN_ID, connect } from "./support/user.js";

/** A contract that reverts with its calldata behind the selector, and one that asks for more memory than gas can buy. */
const ECHO = `0x${"ec".repeat(20)}` as const;
const WASTEFUL = `0x${"1e".repeat(20)}` as const;
const SERVICE = { url: "http://127.0.0.1:1" };
const SELECTOR = toFunctionSelector("function fail()");
const SIGNATURES = ["error TooMuch(uint256 asked)", "function fail()"] as const;
const ABI = parseAbi(SIGNATURES);

const errors = new Interface([
  "function Error(string text)",
  "function Panic(uint256 code)",
  "function TooMuch(uint256)",
]);
const dataOf = (name: string, argument: string | number) =>
  errors.encodeFunctionData(name, [argument]) as Hex;

let devnet: Devnet;
let provider: JsonRpcProvider;
let rpcUrl: string;
beforeAll(async () => {
  devnet = await createDevnet({ blockTimeMs: 0 });
  ({ url: rpcUrl } = await devnet.listen({ port: 0 }));
  provider = connect(rpcUrl);
  provider.pollingInterval = 50;
  await provider.send("anvil_setCode", [ECHO, "0x600436038060045f375ffd"]);
  await provider.send("anvil_setCode", [WASTEFUL, "0x5f63ffffffff52"]);
});
afterAll(async () => {
  provider.destroy();
  await devnet.close();
});

const clientOf = (transport = http(rpcUrl)) =>
  createWalletClient({
    account: privateKeyToAccount(account(2).privateKey as Hex),
    chain: { ...hardhat, id: CHAIN_ID },
    transport,
  });
const actionsOf = () => clientOf().extend(gasWaiverActions(SERVICE));
const signerOf = () => new GasWaiverSigner(account(2).connect(provider), SERVICE);

const ofViem = (error: unknown) => revertOfViem(error, ABI);
const ofEthers = (error: unknown) => revertOfEthers(error, SIGNATURES);

/** Calls that the node's estimate refuses, each with the function that tells why. Nothing listens at the service's address. */
const WAYS: Readonly<
  Record<string, readonly [call: (to: Hex, revert: Hex) => Promise<unknown>, why: typeof ofViem]>
> = {
  "an action of viem": [
    (to, revert) => actionsOf().sendGaslessTransaction({ to, data: SELECTOR, dataSuffix: revert }),
    ofViem,
  ],
  "a contract's call with viem": [
    (address, dataSuffix) =>
      actionsOf().writeGaslessContract({ address, abi: ABI, functionName: "fail", dataSuffix }),
    ofViem,
  ],
  "viem over the transport": [
    (to, revert) =>
      clientOf(gasWaiverTransport(http(rpcUrl), SERVICE)).sendTransaction({
        to,
        data: `${SELECTOR}${revert.slice(2)}`,
      }),
    ofViem,
  ],
  "the signer of ethers": [
    (to, revert) => signerOf().sendTransaction({ to, data: SELECTOR + revert.slice(2) }),
    ofEthers,
  ],
};

describe.each(Object.entries(WAYS))("the reason of a refused estimate, by %s", (_, [call, why]) => {
  const errorOf = (to: Hex, revert: Hex): Promise<unknown> =>
    call(to, revert).then(
      () => undefined,
      (error: unknown) => error,
    );

  it.each<[string, Hex, object]>([
    [
      "the contract's text",
      dataOf("Error", "n must be below 3"),
      { cause: "error", message: "n must be below 3" },
    ],
    [
      "the meaning of a panic",
      dataOf("Panic", 0x11),
      { cause: "panic", message: "panic 0x11: an arithmetic overflow or underflow" },
    ],
    [
      "the contract's own error",
      dataOf("TooMuch", 42),
      { cause: "custom", name: "TooMuch", args: [42n], message: "TooMuch(42)" },
    ],
    [
      "the selector of an error that the ABI does not have",
      "0x01020304",
      { cause: "custom", message: "with the contract's own error 0x01020304" },
    ],
    ["that there is none", "0x", { cause: "empty", message: "without a reason" }],
  ])("is %s", async (_case, revert, reason) => {
    expect(why(await errorOf(ECHO, revert))).toEqual(reason);
  });

  it("is gas for a call that needs more than there is, and the error says so", async () => {
    const error = await errorOf(WASTEFUL, "0x");
    const own = error instanceof BaseError ? error.walk((one) => one instanceof InvalidArgumentError) : error;
    expect(own).toBeInstanceOf(InvalidArgumentError);
    expect(Object(error).message).toContain(
      "needs more gas than the node's estimate may use, which is 50000000",
    );
    expect(why(error)).toMatchObject({ cause: "out_of_gas" });
  });
});

it("the reason of a receipt's error is that it reverted, and where the cause is", async () => {
  const payer = account(12).connect(provider);
  await provider.send("anvil_setBalance", [payer.address, "0xde0b6b3a7640000"]);
  const sent = await payer.sendTransaction({ to: ECHO, data: `${SELECTOR}01020304`, gasLimit: 100_000 });
  const error: unknown = await sent.wait().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "CALL_EXCEPTION", receipt: { status: 0 } });
  expect(ofEthers(error)).toEqual({
    cause: undefined,
    message: "it reverted in its block: `wait` of the client tells why",
  });
});
