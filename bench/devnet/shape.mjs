// The sizes of the load on the devnet.
/** Transactions per JSON-RPC batch. */
export const BATCH = 100;
/** Transactions per block. */
export const BLOCK = 500;
/** Connections of the load generator, one for each batch of a block. */
export const CONNECTIONS = BLOCK / BATCH;
/** Transactions before the measurement, so that compiling does not count. The long run has none. */
export const WARM_UP = 2_000;
