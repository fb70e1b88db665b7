// What is known of a devnet before it is there: for who only speaks to one, and need not load an EVM for that.
export * from "./accounts.js";
export * from "./constants.js";
