import { errorReply, type HttpReply, jsonReply, type Reply, writeReplies } from "./exchange.js";
import type { Personality } from "./personality.js";

/** The code of every refusal by geth's pool: rpc/errors.go of ethereum/go-ethereum. */
const DEFAULT_CODE = -32_000;
const poolError = (message: string) => ({ code: DEFAULT_CODE, message });

/** The server of JSON-RPC in ethereum/go-ethereum, package rpc; cosmos/evm uses it too. */
export const gethServer = {
  /** rpc/handler.go: `batch too large`, with the id of the first call (rpc/testdata/invalid-batch-toolarge.js). */
  tooManyCalls: ({ calls }): HttpReply =>
    jsonReply([{ jsonrpc: "2.0", id: calls[0]?.id ?? null, ...errorReply(-32_600, "batch too large") }]),
  /** rpc/http.go, validateRequest. */
  tooManyBytes: ({ bytes }, limit): HttpReply => ({
    ...{ status: 413, contentType: "text/plain; charset=utf-8" },
    body: `content length too large (${bytes}>${limit})\n`,
  }),
  /** rpc/handler.go, handleBatch: the calls that were not made have this error each; rpc/errors.go has the code. */
  responseTooLarge: (exchange, made): HttpReply => {
    const rest: Reply[] = exchange.calls
      .slice(made.length)
      .map(() => errorReply(-32_003, "response too large"));
    return writeReplies(exchange, [...made, ...rest]);
  },
} satisfies Pick<Personality, "tooManyCalls" | "tooManyBytes" | "responseTooLarge">;

/** ethereum/go-ethereum. */
export const geth: Personality = {
  name: "geth",
  words: {
    // core/txpool/errors.go
    ALREADY_KNOWN: () => poolError("already known"),
    REPLACEMENT_UNDERPRICED: () => poolError("replacement transaction underpriced"),
    // core/error.go and core/txpool/validation.go
    WRAPPER_NONCE_TOO_LOW: ({ nonce, expected }) =>
      poolError(`nonce too low: next nonce ${expected}, tx nonce ${nonce}`),
    WRAPPER_NONCE_GAP: ({ nonce, expected }) =>
      poolError(`nonce too high: tx nonce ${nonce}, gapped nonce ${expected}`),
    TRANSACTION_TOO_LARGE: () => poolError("oversized data: transaction size 140000, limit 131072"),
    // core/txpool/legacypool/legacypool.go
    POOL_FULL: () => poolError("txpool is full"),
  },
  // node/defaults.go; rpc/http.go, defaultBodyLimit
  limits: { calls: 1_000, requestBytes: 5_242_880, responseBytes: 25_000_000 },
  ...gethServer,
  troubles: [
    // rpc/errors.go
    { code: -32_002, message: "request timed out" },
    // core/txpool/legacypool/legacypool.go
    poolError("future transaction tries to replace pending"),
    // core/txpool/errors.go
    poolError("in-flight transaction limit reached for delegated accounts"),
    poolError("address already reserved"),
    poolError("account limit exceeded: pooled 64 txs"),
    // core/txpool/locals/journal.go
    poolError("no active journal"),
    // Go's context, wherever a request is cancelled
    poolError("context deadline exceeded"),
    poolError("context canceled"),
  ],
};

/** cosmos/evm on CometBFT. */
export const cosmos: Personality = {
  name: "cosmos",
  words: {
    // mempool/txpool/errors.go of cosmos/evm
    ALREADY_KNOWN: () => poolError("already known"),
    REPLACEMENT_UNDERPRICED: () => poolError("replacement transaction underpriced"),
    TRANSACTION_TOO_LARGE: () => poolError("oversized data: transaction size 140000, limit 131072"),
    // ante/evm/09_increment_sequence.go, mempool/errors.go
    WRAPPER_NONCE_TOO_LOW: ({ nonce, expected }) =>
      poolError(`invalid nonce; got ${nonce}, expected ${expected}: tx nonce is lower than account nonce`),
    WRAPPER_NONCE_GAP: ({ nonce, expected }) =>
      poolError(
        `tx nonce: ${nonce}, account accountNonce: ${expected}: tx nonce is higher than account nonce`,
      ),
    // mempool/internal/queue/queue.go
    POOL_FULL: () => poolError("queue full"),
  },
  // server/config/config.go: the values of geth
  limits: { calls: 1_000, requestBytes: 5_242_880, responseBytes: 25_000_000 },
  ...gethServer,
  troubles: [
    // mempool/errors.go of cometbft/cometbft
    poolError("mempool is still rechecking after a new committed block, so it is considered as full"),
    poolError("mempool is full: number of txs 5000 (max: 5000), total txs bytes 1 (max: 1073741824)"),
    poolError("appConn mempool: EOF"),
    poolError("tx already exists in cache: retry later"),
    // rpc/core/mempool.go of cometbft/cometbft
    poolError("timed out waiting for tx to be included in a block"),
    // mempool/txpool/txpool.go and x/vm of cosmos/evm
    poolError("pool already terminated"),
    poolError("latest header is nil"),
    // net/http of Go, while CometBFT is away
    poolError(
      'post failed: Post "http://localhost:26657": dial tcp 127.0.0.1:26657: connect: connection refused',
    ),
    poolError("EOF"),
  ],
};
