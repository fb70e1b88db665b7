/** Transactions in a JSON-RPC batch. */
export const BATCH = 100;
/** Transactions in a block. */
export const BLOCK = 500;
/** Connections of the load generator: one for each batch of a block. */
export const CONNECTIONS = BLOCK / BATCH;
/** Transactions before the clock runs, so that compiling does not count. The long run begins without. */
export const WARM_UP = 2_000;
