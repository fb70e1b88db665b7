// The accounts, addresses and ports of every devnet. Programs that only talk to one import these without the EVM.
export * from "./accounts.js";
export * from "./constants.js";
export * from "./profiles.js";
