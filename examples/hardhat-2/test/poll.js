const assert = require("node:assert/strict");
const { execFileSync } = require("node:child_process");
const { GasWaiverSigner } = require("@gas-waiver/client/ethers");
const helpers = require("@nomicfoundation/hardhat-network-helpers");
const { ethers, network, viem } = require("hardhat");

const service = {
  url: process.env.GAS_WAIVER_URL ?? "http://127.0.0.1:8080",
  apiKey: "gw_dev_local",
};
/** The accounts of the devnet, whose keys everybody knows. */
const PHRASE = "test test test test test test test test test test test junk";
const FUNDED = "0x1CBd3b2770909D4e10f157cABC84C7264073C9Ec";
const WAIVER = "0xBcd4042DE499D14e55001CcbB24a551F3b954096";
const DAY = 86_400;

/** A user's signer that sends through the service. Make a new one after a snapshot: it remembers nonces. */
function gasless(index) {
  const wallet = ethers.HDNodeWallet.fromPhrase(PHRASE, "", `m/44'/60'/0'/0/${index}`);
  return new GasWaiverSigner(wallet.connect(ethers.provider), service);
}

/** Lets the devnet's waiver call a contract. */
function allow(contract) {
  const rpc = ["--rpc-url", network.config.url];
  const args = ["governance", "allow", "--dev", ...rpc, "--waiver", WAIVER, "--target", contract];
  execFileSync("npx", ["gas-waiver", ...args]);
}

/** A poll that is open for a day, and may be voted in without gas. */
async function openPoll() {
  const poll = await ethers.deployContract("Poll", [DAY], await ethers.getSigner(FUNDED));
  await poll.waitForDeployment();
  allow(await poll.getAddress());
  return { poll };
}

async function vote(poll, user) {
  const sent = await poll.connect(user).vote();
  return await sent.wait();
}

describe("a poll on the devnet", () => {
  it("counts a vote that costs nothing", async () => {
    const { poll } = await helpers.loadFixture(openPoll);
    const user = gasless(0);
    const receipt = await vote(poll, user);
    assert.equal(receipt.gasPrice, 0n);
    assert.equal(await ethers.provider.getBalance(user), 0n);
    assert.equal(await poll.votes(), 1n);
  });

  it("begins anew in each test, and the service goes back with the chain", async () => {
    const { poll } = await helpers.loadFixture(openPoll);
    assert.equal(await poll.votes(), 0n);
    await vote(poll, gasless(0));
    const snapshot = await helpers.takeSnapshot();
    await vote(poll, gasless(1));
    assert.equal(await poll.votes(), 2n);
    await snapshot.restore();
    assert.equal(await poll.votes(), 1n);
    await vote(poll, gasless(1));
    assert.equal(await poll.votes(), 2n);
  });

  it("closes after a day", async () => {
    const { poll } = await helpers.loadFixture(openPoll);
    await helpers.time.increase(DAY);
    const error = await vote(poll, gasless(0)).then(assert.fail, (thrown) => thrown);
    assert.equal(poll.interface.parseError(error.data)?.name, "PollClosed");
  });

  it("takes votes of accounts that a test impersonates and pays for", async () => {
    const { poll } = await helpers.loadFixture(openPoll);
    const contract = "0x00000000000000000000000000000000c0ffee01";
    await helpers.impersonateAccount(contract);
    await helpers.setBalance(contract, ethers.parseEther("1"));
    await vote(poll, await ethers.getSigner(contract));
    assert.equal(await poll.hasVoted(contract), true);
    const before = await helpers.time.latestBlock();
    await helpers.mine(10);
    assert.equal(await helpers.time.latestBlock(), before + 10);
  });

  it("reads the same with viem", async () => {
    const { poll } = await helpers.loadFixture(openPoll);
    await vote(poll, gasless(2));
    const seen = await viem.getContractAt("Poll", await poll.getAddress());
    assert.equal(await seen.read.votes(), 1n);
  });
});
