import { errorReply, type HttpReply, jsonReply, type Reply, writeReplies } from "./exchange.js";
import { gethServer } from "./gethNodes.js";
import type { Personality } from "./personality.js";

const callError = (code: number, message: string) => ({ code, message });
const batchError = (code: number, message: string, status = 200, data?: string): HttpReply =>
  jsonReply({ jsonrpc: "2.0", id: null, ...errorReply(code, message, data) }, status);

/** paradigmxyz/reth, on jsonrpsee. */
export const reth: Personality = {
  name: "reth",
  words: {
    // crates/rpc/rpc-eth-types/src/error/mod.rs
    ALREADY_KNOWN: () => callError(-32_000, "already known"),
    WRAPPER_NONCE_TOO_LOW: ({ nonce, expected }) =>
      callError(-32_000, `nonce too low: next nonce ${expected}, tx nonce ${nonce}`),
    WRAPPER_NONCE_GAP: () => callError(-32_000, "nonce too high"),
    REPLACEMENT_UNDERPRICED: () => callError(-32_000, "replacement transaction underpriced"),
    POOL_FULL: () => callError(-32_000, "txpool is full"),
    TRANSACTION_TOO_LARGE: () => callError(-32_000, "oversized data: transaction size 140000, limit 131072"),
  },
  // crates/node/core/src/args/rpc_server.rs: 15 and 160 MB; jsonrpsee limits no batch by default
  limits: { requestBytes: 15 * 1_048_576, responseBytes: 160 * 1_048_576 },
  // paritytech/jsonrpsee, types/src/error.rs and server/src/transport/http.rs
  tooManyCalls: (_, limit) =>
    batchError(-32_010, "The batch request was too large", 200, `Exceeded max limit of ${limit}`),
  tooManyBytes: (_, limit) =>
    batchError(-32_007, "Request is too big", 413, `Exceeded max limit of ${limit}`),
  responseTooLarge: (_exchange, _made, limit) =>
    batchError(-32_011, "The batch response was too large", 200, `Exceeded max limit of ${limit}`),
  troubles: [
    // crates/rpc/rpc-eth-types/src/error/mod.rs
    callError(-32_603, "internal eth error"),
    callError(-32_603, "internal blocking task error"),
    callError(-32_603, "Batch transaction sender channel closed"),
    callError(-32_003, "transaction discarded outright due to pool size constraints"),
    callError(
      -32_003,
      "rejected due to 0x0000000000000000000000000000000000000001 being identified as a spammer",
    ),
    // paritytech/jsonrpsee, types/src/error.rs
    callError(-32_009, "Server is busy, try again later"),
    callError(-32_603, "Internal error"),
  ],
};

/** erigontech/erigon. */
export const erigon: Personality = {
  name: "erigon",
  words: {
    // The RPC daemon puts the name of the import's result before the pool's word (send_transaction.go). The words are
    // of txnprovider/txpool/txpoolcfg/txpoolcfg.go.
    ALREADY_KNOWN: () => callError(-32_000, "ALREADY_EXISTS: already known"),
    WRAPPER_NONCE_TOO_LOW: () => callError(-32_000, "INTERNAL_ERROR: nonce too low"),
    // Erigon queues every later nonce. A strict chain built on it has geth's word.
    WRAPPER_NONCE_GAP: () => callError(-32_000, "INTERNAL_ERROR: nonce too high"),
    REPLACEMENT_UNDERPRICED: () => callError(-32_000, "INTERNAL_ERROR: could not replace existing tx"),
    POOL_FULL: () => callError(-32_000, "INTERNAL_ERROR: pending sub-pool is full"),
    TRANSACTION_TOO_LARGE: () => callError(-32_000, "INTERNAL_ERROR: RLPTooLong"),
  },
  limits: { calls: 100 },
  // rpc/server.go: `--rpc.batch.limit`, 100 by default
  tooManyCalls: ({ calls }, limit) =>
    batchError(
      -32_000,
      `batch limit ${limit} exceeded (can increase by --rpc.batch.limit). Requested batch of size: ${calls.length}`,
    ),
  // rpc/http.go, from geth's
  tooManyBytes: gethServer.tooManyBytes,
  responseTooLarge: gethServer.responseTooLarge,
  troubles: [
    // txnprovider/txpool/txpoolcfg/txpoolcfg.go
    callError(-32_000, "INTERNAL_ERROR: spammer"),
    callError(-32_000, "INTERNAL_ERROR: not set"),
    callError(-32_000, "INTERNAL_ERROR: mined"),
    callError(-32_000, "INTERNAL_ERROR: baseFee sub-pool is full"),
    // gRPC, while the RPC daemon has no pool
    callError(-32_000, "rpc error: code = Unavailable desc = connection error: desc = transport is closing"),
    callError(-32_000, "rpc error: code = DeadlineExceeded desc = context deadline exceeded"),
    callError(-32_000, "server overloaded"),
  ],
};

/** hyperledger/besu. All words and codes are of internal/response/RpcErrorType.java. */
export const besu: Personality = {
  name: "besu",
  words: {
    ALREADY_KNOWN: () => callError(-32_000, "Known transaction"),
    WRAPPER_NONCE_TOO_LOW: () => callError(-32_001, "Nonce too low"),
    WRAPPER_NONCE_GAP: () => callError(-32_000, "Transaction nonce is too distant from current sender nonce"),
    REPLACEMENT_UNDERPRICED: () => callError(-32_000, "Replacement transaction underpriced"),
    POOL_FULL: () =>
      callError(
        -32_002,
        "Transaction pool not enabled. (Either txpool explicitly disabled, or node not yet in sync).",
      ),
    TRANSACTION_TOO_LARGE: () => callError(-32_005, "Transaction gas limit cap exceeded"),
  },
  // jsonrpc/JsonRpcConfiguration.java
  limits: { calls: 1_024, requestBytes: 128 * 1_048_576 },
  // handlers/JsonRpcArrayExecutor.java
  tooManyCalls: () => batchError(-32_005, "Number of requests exceeds max batch size"),
  // The body handler of Vert.x answers with the reason phrase alone.
  tooManyBytes: () => ({ status: 413, body: "Request Entity Too Large", contentType: "text/plain" }),
  // Besu streams its answer without a limit. A proxy in front of it cuts the answer off.
  responseTooLarge: (exchange, made, limit) => {
    const reply = writeReplies(exchange, made);
    return { ...reply, body: reply.body.slice(0, limit) };
  },
  troubles: [
    callError(-32_603, "Timeout expired"),
    callError(-32_603, "Internal error"),
    callError(-32_603, "Plugin internal error"),
    callError(-32_008, "Initial sync is still in progress"),
    callError(-32_000, "An invalid transaction with a lower nonce exists"),
    callError(-32_000, "Plugin has marked the transaction as not acceptable by the transaction pool"),
    callError(-32_603, "Unknown internal error"),
  ],
};

/** NethermindEth/nethermind. Codes: Nethermind.JsonRpc/ErrorCodes.cs. */
export const nethermind: Personality = {
  name: "nethermind",
  words: {
    // Nethermind.TxPool/TxPoolErrorMessages.cs; before 2026 the names in AcceptTxResult.cs were the words
    ALREADY_KNOWN: () => callError(-32_010, "already known"),
    WRAPPER_NONCE_TOO_LOW: ({ nonce, expected }) =>
      callError(-32_010, `nonce too low, Current nonce: ${expected}, nonce of rejected tx: ${nonce}`),
    WRAPPER_NONCE_GAP: ({ expected }) =>
      callError(-32_010, `NonceGap, Future nonce. Expected nonce: ${expected}`),
    REPLACEMENT_UNDERPRICED: () => callError(-32_010, "ReplacementNotAllowed"),
    POOL_FULL: () => callError(-32_010, "FeeTooLowToCompete"),
    TRANSACTION_TOO_LARGE: () => callError(-32_010, "transaction too large"),
  },
  // Nethermind.JsonRpc/JsonRpcConfig.cs
  limits: { calls: 1_024, requestBytes: 30_000_000, responseBytes: 33_554_432 },
  // Nethermind.JsonRpc/JsonRpcProcessor.cs
  tooManyCalls: () => batchError(-32_005, "Batch size limit exceeded", 503),
  // Kestrel's limit of the body: the status alone
  tooManyBytes: () => ({ status: 413, body: "" }),
  responseTooLarge: (exchange, made, limit): HttpReply => {
    const message = `MaxBatchResponseBodySize of ${Math.floor(limit / 1_024)}KB exceeded`;
    const rest: Reply[] = exchange.calls.slice(made.length).map(() => errorReply(-32_005, message));
    return writeReplies(exchange, [...made, ...rest]);
  },
  troubles: [
    callError(-32_010, "node is syncing"),
    callError(-32_010, "transaction invalid"),
    callError(-32_010, "failed to recover sender"),
    callError(-32_016, "eth_sendRawTransaction request was canceled due to enabled timeout."),
    callError(-32_603, "Internal error"),
    callError(-32_005, "Too many requests"),
  ],
};
