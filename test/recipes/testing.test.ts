import { type Dev, startDev } from "gas-waiver";
import { encodeFunctionData, parseAbi, parseUnits } from "viem";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";

const abi = parseAbi(["function transfer(address to, uint256 amount) returns (bool)"]);
let dev: Dev;
let snapshot: string;

beforeAll(async () => {
  dev = await startDev();
}, 60_000);
afterAll(() => dev.stop());

// Each test begins with the same chain, and the service goes back with it.
beforeEach(async () => {
  snapshot = await dev.snapshot();
});
afterEach(() => dev.revert(snapshot));

/** Transfers tokens from Alice, who has no native coin, to Bob. */
async function transfer(amount: string) {
  const [alice, bob] = dev.users;
  if (alice === undefined || bob === undefined) throw new Error("there are two users");
  const args = [bob.address, parseUnits(amount, 18)] as const;
  const data = encodeFunctionData({ abi, functionName: "transfer", args });
  return await dev.gasless(alice).send({ to: dev.token, data });
}

it("transfers without gas", async () => {
  expect(await transfer("25")).toMatchObject({ status: "0x1", effectiveGasPrice: "0x0" });
});

it("begins anew, with the same nonce", async () => {
  expect(await transfer("25")).toMatchObject({ status: "0x1" });
});

it("is refused what no waiver may carry, until that is allowed", async () => {
  const [alice, bob] = dev.users;
  if (alice === undefined || bob === undefined) throw new Error("there are two users");
  const call = { to: bob.address };
  await expect(dev.gasless(alice).send(call)).rejects.toMatchObject({ reason: "TARGET_NOT_ALLOWED" });
  await dev.allow(bob.address);
  expect(await dev.gasless(alice).send(call)).toMatchObject({ status: "0x1" });
});
