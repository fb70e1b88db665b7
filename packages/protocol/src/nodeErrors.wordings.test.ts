// The wordings of nodes with their verdicts: one row a wording.
import { describe, expect, it } from "vitest";
import { classifySendError, type SendVerdictKind as Kind } from "./nodeErrors.js";

const said = (message: string, code = -32_000) => classifySendError({ code, message });

/** Wordings of a node that already has these bytes, which is success. */
const ACCEPTED = [
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
];
const NONCE_GAP = [
  ["geth", "nonce too high: address 0x12, tx: 6 state: 5"],
  ["nethermind", "NonceGap, Future nonce. Expected nonce: 5"],
  ["anvil", "nonce too high"],
  ["cosmos/evm", "invalid nonce; got 6, expected 5: invalid sequence: invalid sequence"],
  ["cosmos/evm", "invalid nonce; got 10, expected 9: invalid sequence"],
  ["Cosmos SDK", "account sequence mismatch, expected 9, got 10: incorrect account sequence"],
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
/** Wordings outside the table: the lane looks the wrapper up, and takes the same answer a second time as a refusal. */
const DISPUTED = [
  ["geth", "intrinsic gas too low: gas 1, minimum needed 21000"],
  ["geth", "exceeds block gas limit"],
  ["geth", "invalid sender"],
  ["geth", "oversized data: transaction size 200000, limit 131072"],
  ["geth", "unknown transaction type"],
  ["erigon", "gas limit is too high"],
  ["nethermind", "gas limit reached"],
  ["nethermind", "FailedToResolveSender"],
  ["anyone", "internal error"],
  ["anyone", ""],
];

const TABLE: readonly (readonly [Kind, readonly (readonly string[])[]])[] = [
  ["accepted", ACCEPTED],
  ["occupied", OCCUPIED],
  ["nonce too low", NONCE_TOO_LOW],
  ["nonce gap", NONCE_GAP],
  ["not now", NOT_NOW],
  ["waiver unusable", UNUSABLE],
  ["disputed", DISPUTED],
];

describe.each(TABLE)("%s", (kind, rows) => {
  it.each(rows)("is the meaning of %s's %j", (_node, message = "") => {
    expect(said(message).kind).toBe(kind);
  });
});

describe("refused for funds", () => {
  it.each(FUNDS)("is the meaning of %s's %j", (_node, message = "") => {
    expect(said(message)).toMatchObject({ kind: "refused", reason: "INSUFFICIENT_BALANCE" });
  });
});

describe("the code for an exceeded limit", () => {
  it("means not now, whatever the words, but known words take precedence", () => {
    expect(said("daily request count exceeded", -32_005).kind).toBe("not now");
    expect(said("already known", -32_005).kind).toBe("accepted");
  });
});
