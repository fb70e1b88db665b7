// The wordings of nodes with their verdicts: one row a wording.
import { describe, expect, it } from "vitest";
import { classifySendError, type SendVerdictKind as Kind } from "./nodeErrors.js";

const classify = (message: string, code = -32_000) => classifySendError({ code, message });

/** Wordings of a node that has seen these bytes before. */
const ALREADY_KNOWN = [
  ["geth", "already known"],
  ["geth, old", "known transaction: 0x12"],
  ["erigon", "ALREADY_EXISTS: already known"],
  ["erigon", "existing txn with same hash"],
  ["erigon, old", "existing tx with same hash"],
  ["nethermind", "AlreadyKnown"],
  ["anvil", "transaction already imported"],
  ["CometBFT", "tx already exists in cache"],
  ["cosmos/evm", "tx already in mempool"],
  ["a gateway", "transaction already exists"],
  ["a gateway", "already in the pool"],
];
/** Wordings of a pool with another transaction under the nonce, which a gas price of 0 cannot replace. */
const OCCUPIED = [
  ["geth", "replacement transaction underpriced"],
  ["geth", "replacement transaction underpriced: new tx gas fee cap 0 <= 0 queued"],
  ["erigon", "INTERNAL_ERROR: replacement transaction underpriced"],
  ["erigon", "could not replace existing tx"],
  ["nethermind", "ReplacementNotAllowed"],
  ["anvil", "replacement transaction underpriced"],
  [
    "reth (crates/transaction-pool/src/error.rs)",
    "[0x12]: insufficient gas price to replace existing transaction",
  ],
];
const NONCE_TOO_LOW = [
  ["geth", "nonce too low: next nonce 5, tx nonce 4"],
  ["geth", "nonce too low: address 0x12, tx: 4 state: 5"],
  ["erigon", "nonce too low"],
  ["nethermind", "OldNonce, Current nonce: 5, nonce of rejected tx: 4"],
  ["anvil", "nonce too low"],
  ["cosmos/evm", "invalid nonce; got 4, expected 5: invalid sequence: invalid sequence"],
  ["cosmos/evm", "invalid nonce; got 9, expected 10: invalid sequence"],
  ["Cosmos SDK", "account sequence mismatch, expected 10, got 9: incorrect account sequence"],
  ["cosmos/evm (mempool/errors.go)", "tx nonce is lower than account nonce"],
  ["Besu (RpcErrorType.java)", "Nonce too low"],
];
const NONCE_GAP = [
  ["geth", "nonce too high: address 0x12, tx: 6 state: 5"],
  ["nethermind", "NonceGap, Future nonce. Expected nonce: 5"],
  ["anvil", "nonce too high"],
  ["cosmos/evm", "invalid nonce; got 6, expected 5: invalid sequence: invalid sequence"],
  ["cosmos/evm", "invalid nonce; got 10, expected 9: invalid sequence"],
  ["Cosmos SDK", "account sequence mismatch, expected 9, got 10: incorrect account sequence"],
  ["cosmos/evm (mempool/errors.go)", "tx nonce is higher than account nonce"],
  ["geth (core/txpool/legacypool/legacypool.go)", "gapped-nonce tx from delegated accounts"],
  ["reth (crates/transaction-pool/src/error.rs)", "gapped-nonce tx from delegated accounts"],
  ["Besu (RpcErrorType.java)", "Transaction nonce is too distant from current sender nonce"],
  ["Besu (RpcErrorType.java)", "An invalid transaction with a lower nonce exists"],
  ["Besu (RpcErrorType.java)", "Nonce too high"],
];
/** Wordings of a node that has not taken the wrapper and may do so later: its pool is full, or a rate is exceeded. */
const NOT_NOW = [
  ["geth", "txpool is full"],
  ["geth", "account limit exceeded: pooled 16 txs"],
  ["erigon", "pending sub-pool is full"],
  ["erigon", "baseFee sub-pool is full"],
  ["erigon", "queued sub-pool is full"],
  ["anvil", "transaction pool is full"],
  ["CometBFT", "mempool is full: number of txs 5000 (max: 5000), total txs bytes 1 (max: 2)"],
  ["cosmos/evm (mempool/internal/queue/queue.go)", "queue full"],
  ["geth (core/txpool/errors.go)", "account limit exceeded"],
  ["geth (core/txpool/errors.go)", "in-flight transaction limit reached for delegated accounts"],
  // The pool is full, and this transaction is not the sender's next one.
  ["geth (core/txpool/legacypool/legacypool.go)", "future transaction tries to replace pending"],
  [
    "reth (crates/transaction-pool/src/error.rs)",
    "[0x12]: transaction discarded outright due to pool size constraints",
  ],
  ["Besu (RpcErrorType.java)", "Initial sync is still in progress"],
  ["a gateway", "rate limit exceeded"],
  ["a gateway", "Too Many Requests"],
  ["a gateway", "request limit reached"],
];
/** Wordings of a node that wants to be paid: it knows no waivers, or not this one. */
const UNUSABLE = [
  ["geth", "transaction underpriced: gas tip cap 0, minimum needed 1"],
  ["geth", "max fee per gas less than block base fee: address 0x12, maxFeePerGas: 0, baseFee: 7"],
  ["erigon", "underpriced"],
  ["erigon", "fee too low"],
  ["nethermind", "FeeTooLow, FeePerGas needs to be higher than 0"],
  ["nethermind", "FeeTooLowToCompete"],
  ["anvil", "max fee per gas less than block base fee"],
  ["cosmos/evm", "insufficient fee: provided 0, required 1"],
  ["cosmos/evm", "gas price (0) below the minimum global fee"],
];
/** Wordings for an InnerTx that carries a value which its sender does not have. */
const FUNDS = [
  ["geth", "insufficient funds for gas * price + value: balance 0, tx cost 1, overshot 1"],
  ["erigon", "insufficient funds"],
  ["nethermind", "InsufficientFunds, Account balance: 0, cumulative cost: 1"],
  ["anvil", "Insufficient funds for gas * price + value"],
  ["cosmos/evm", "sender balance < tx cost (0 < 1): insufficient funds"],
];
/** Wordings for an InnerTx whose sender is a contract (EIP-3607). */
const CONTRACT = [
  ["geth (core/error.go)", "sender not an eoa: address 0x12, len(code): 23"],
  [
    "Besu (TransactionValidator)",
    "Sender 0x12 has deployed code and so is not authorized to send transactions",
  ],
  ["Nethermind", "SenderIsContract"],
  ["reth (crates/transaction-pool)", "transaction signer has bytecode set"],
  ["revm", "reject transactions from senders with deployed code"],
];
/** Wordings of a node whose rules the transaction breaks, whatever comes later: the closed list of D28. */
const REFUSED = [
  ["geth (core/error.go)", "intrinsic gas too low: gas 1, minimum needed 21000"],
  ["geth (core/error.go)", "insufficient gas for floor data gas cost: gas 1, minimum needed 21000"],
  ["geth (core/txpool/errors.go)", "exceeds block gas limit"],
  ["geth (core/txpool/validation.go)", "oversized data: transaction size 200000, limit 131072"],
  ["geth (core/error.go)", "transaction gas limit too high (cap: 16777216, tx: 30000000)"],
  ["reth (crates/rpc/rpc-eth-types/src/error/mod.rs)", "gas limit too high"],
  ["reth (crates/transaction-pool/src/error.rs)", "oversized data: transaction size 200000, limit 131072"],
  ["erigon", "gas limit is too high"],
  ["Besu (RpcErrorType.java)", "Intrinsic gas exceeds gas limit"],
  ["Besu (RpcErrorType.java)", "Transaction gas limit exceeds block gas limit"],
  ["cosmos/evm (ante/evm/08_gas_consume.go)", "tx gas (90) exceeds block gas limit (50)"],
  ["CometBFT (mempool/filter.go)", "transaction size 2000000 exceeds max_tx_bytes 1048576"],
  ["CometBFT (mempool/errors.go)", "Tx too large. Max size is 1048576, but got 2000000"],
];
/** Wordings outside the table. The node may have taken the wrapper, or may take it later. */
const DISPUTED = [
  ["geth", "invalid sender"],
  ["geth", "unknown transaction type"],
  ["geth (rpc/errors.go)", "request timed out"],
  ["reth (crates/storage/errors/src/provider.rs)", "node is syncing. best block: 1"],
  ["nethermind", "gas limit reached"],
  ["nethermind", "FailedToResolveSender"],
  [
    "CometBFT (rpc/jsonrpc/client/http_json_client.go)",
    'post failed: Post "http://node:26657": connection refused',
  ],
  ["a gateway", "no healthy upstream"],
  ["a provider's bill", "Insufficient balance: top up your account"],
  ["a gateway", "context deadline exceeded"],
  ["any node", "Internal error"],
  ["any node", "internal error"],
  ["any node", ""],
];

const TABLE: readonly (readonly [Kind, readonly (readonly string[])[]])[] = [
  ["already known", ALREADY_KNOWN],
  ["occupied", OCCUPIED],
  ["nonce too low", NONCE_TOO_LOW],
  ["nonce gap", NONCE_GAP],
  ["not now", NOT_NOW],
  ["waiver unusable", UNUSABLE],
  ["disputed", DISPUTED],
];

describe.each(TABLE)("%s", (kind, rows) => {
  it.each(rows)("is the meaning of %s's %j", (_node, message = "") => {
    expect(classify(message).kind).toBe(kind);
  });
});

describe("refused for good", () => {
  it.each(REFUSED)("is the meaning of %s's %j, whatever the code", (_node, message = "") => {
    expect(classify(message)).toMatchObject({ kind: "refused", reason: "NODE_REFUSED" });
    expect(classify(message, -32_005)).toMatchObject({ kind: "refused", reason: "NODE_REFUSED" });
  });
});

describe("refused for funds", () => {
  it.each(FUNDS)("is the meaning of %s's %j", (_node, message = "") => {
    expect(classify(message)).toMatchObject({ kind: "refused", reason: "INSUFFICIENT_BALANCE" });
  });
});

describe("refused for the sender's code", () => {
  it.each(CONTRACT)("is the meaning of %s's %j", (_node, message = "") => {
    expect(classify(message)).toMatchObject({ kind: "refused", reason: "SENDER_IS_CONTRACT" });
  });
});

describe("the code for an exceeded limit", () => {
  it("means not now, whatever the words, but known words take precedence", () => {
    expect(classify("daily request count exceeded", -32_005).kind).toBe("not now");
    expect(classify("already known", -32_005).kind).toBe("already known");
  });
});
