import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, it } from "node:test";
import { gasWaiverTransport } from "@gas-waiver/client/viem";
import { network } from "hardhat";
import { BaseError, ContractFunctionRevertedError, custom, parseEther } from "viem";
import { mnemonicToAccount } from "viem/accounts";

const service = {
  url: process.env.GAS_WAIVER_URL ?? "http://127.0.0.1:8080",
  apiKey: "gw_dev_local",
};
/** The accounts of the devnet, whose keys everybody knows. */
const PHRASE = "test test test test test test test test test test test junk";
const FUNDED = "0x1CBd3b2770909D4e10f157cABC84C7264073C9Ec";
const WAIVER = "0xBcd4042DE499D14e55001CcbB24a551F3b954096";
const DAY = 86_400n;

const { ethers, networkConfig, networkHelpers, provider, viem } = await network.create("dev");
const chain = await viem.getPublicClient();

/** A poll as a user sees it whose calls go through the service. */
async function pollOf(index, address) {
  const account = mnemonicToAccount(PHRASE, { addressIndex: index });
  const transport = gasWaiverTransport(custom(provider), service);
  const wallet = await viem.getWalletClient(account.address, { account, transport });
  return await viem.getContractAt("Poll", address, { client: { public: chain, wallet } });
}

/** Lets the devnet's waiver call a contract. */
async function allow(contract) {
  const rpc = ["--rpc-url", await networkConfig.url.getUrl()];
  const args = ["governance", "allow", "--dev", ...rpc, "--waiver", WAIVER, "--target", contract];
  execFileSync("npx", ["gas-waiver", ...args]);
}

/** A poll that is open for a day, and may be voted in without gas. */
async function openPoll() {
  const wallet = await viem.getWalletClient(FUNDED);
  const poll = await viem.deployContract("Poll", [DAY], { client: { wallet } });
  await allow(poll.address);
  return poll;
}

const vote = async (poll) => await chain.waitForTransactionReceipt({ hash: await poll.write.vote() });

describe("a poll on the devnet", () => {
  it("counts a vote that costs nothing", async () => {
    const { address } = await networkHelpers.loadFixture(openPoll);
    const poll = await pollOf(0, address);
    const receipt = await vote(poll);
    assert.equal(receipt.status, "success");
    assert.equal(receipt.effectiveGasPrice, 0n);
    assert.equal(await chain.getBalance({ address: receipt.from }), 0n);
    assert.equal(await poll.read.votes(), 1n);
  });

  it("begins anew in each test, and the service goes back with the chain", async () => {
    const { address } = await networkHelpers.loadFixture(openPoll);
    const [first, second] = [await pollOf(0, address), await pollOf(1, address)];
    assert.equal(await first.read.votes(), 0n);
    await vote(first);
    const snapshot = await networkHelpers.takeSnapshot();
    await vote(second);
    assert.equal(await first.read.votes(), 2n);
    await snapshot.restore();
    assert.equal(await first.read.votes(), 1n);
    await vote(await pollOf(1, address));
    assert.equal(await first.read.votes(), 2n);
  });

  it("closes after a day", async () => {
    const { address } = await networkHelpers.loadFixture(openPoll);
    await networkHelpers.time.increase(DAY);
    const poll = await pollOf(0, address);
    await assert.rejects(poll.write.vote(), (error) => {
      assert(error instanceof BaseError);
      const reverted = error.walk((cause) => cause instanceof ContractFunctionRevertedError);
      assert.equal(reverted.data.errorName, "PollClosed");
      return true;
    });
  });

  it("takes votes of accounts that a test impersonates and pays for", async () => {
    const { address } = await networkHelpers.loadFixture(openPoll);
    const contract = "0x00000000000000000000000000000000c0ffee01";
    await networkHelpers.impersonateAccount(contract);
    await networkHelpers.setBalance(contract, parseEther("1"));
    const wallet = await viem.getWalletClient(contract);
    const poll = await viem.getContractAt("Poll", address, { client: { wallet } });
    await vote(poll);
    assert.equal(await poll.read.hasVoted([contract]), true);
    const before = await networkHelpers.time.latestBlock();
    await networkHelpers.mine(10);
    assert.equal(await networkHelpers.time.latestBlock(), before + 10);
  });

  it("reads the same with ethers", async () => {
    const { address } = await networkHelpers.loadFixture(openPoll);
    await vote(await pollOf(2, address));
    const poll = await ethers.getContractAt("Poll", address);
    assert.equal(await poll.votes(), 1n);
  });
});
