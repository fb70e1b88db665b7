require("@nomicfoundation/hardhat-ethers");
require("@nomicfoundation/hardhat-viem");
const { subtask } = require("hardhat/config");
const { TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD } = require("hardhat/builtin-tasks/task-names");

/** The chain of `npx gas-waiver dev --block-time 0`. */
const url = process.env.RPC_URL ?? "http://127.0.0.1:8545";

// The compiler of the npm package solc. Without this, Hardhat downloads one.
subtask(TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD, async () => ({
  version: "0.8.30",
  longVersion: require("solc").version(),
  compilerPath: require.resolve("solc/soljson.js"),
  isSolcJs: true,
}));

module.exports = {
  solidity: "0.8.30",
  defaultNetwork: "dev",
  networks: { dev: { url } },
};
