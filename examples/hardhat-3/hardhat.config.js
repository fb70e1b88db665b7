import { createRequire } from "node:module";
import hardhatEthers from "@nomicfoundation/hardhat-ethers";
import hardhatNetworkHelpers from "@nomicfoundation/hardhat-network-helpers";
import hardhatViem from "@nomicfoundation/hardhat-viem";
import { defineConfig } from "hardhat/config";

export default defineConfig({
  plugins: [hardhatEthers, hardhatNetworkHelpers, hardhatViem],
  // The compiler of the npm package solc. Without `path`, Hardhat downloads one.
  solidity: { version: "0.8.30", path: createRequire(import.meta.url).resolve("solc/soljson.js") },
  networks: {
    // The chain of `npx gas-waiver dev --block-time 0`.
    dev: { type: "http", url: process.env.RPC_URL ?? "http://127.0.0.1:8545" },
  },
});
