import type { ErrorValues } from "../protocolError.js";
import { detailValuesOf } from "../reasons/details.js";
import { isValidatorReason, type Reason } from "../reasons/index.js";

/**
 * The meaning of a node's answer to `eth_sendRawTransaction` for the wrapper that was sent.
 *
 * - `accepted`: the node returned the wrapper's hash, or shows it.
 * - `already known`: the node has seen these bytes; whether it still has the wrapper must be looked up (CometBFT remembers
 * what its pool has dropped).
 * - `nonce too low`: the chain has used the wrapper's nonce; only the chain tells for which transaction.
 * - `nonce gap`: the node has not taken the wrapper, because an earlier nonce is missing (a strict pool).
 * - `occupied`: another wrapper waits under this nonce; at a gas price of 0 nothing can replace it.
 * - `not now`: the node has not taken the wrapper, and may do so later (pool full, rate limited, not reached).
 * - `waiver unusable`: the node takes no wrapper of this waiver; nothing is wrong with the InnerTx.
 * - `refused`: the node refuses this InnerTx for good, by the rule named.
 * - `inner too early`: the user's earlier transaction is missing.
 * - `inner too late`: the user's nonce is used, by this InnerTx or by another transaction; the chain tells.
 * - `disputed`: the error is unknown; whether the node has the wrapper must be looked up.
 * - `ambiguous`: no answer came, and the node may have the wrapper. Send the same bytes again, never another
 * nonce.
 */
export type SendVerdict =
  | { readonly kind: "accepted" | "nonce too low" | "nonce gap" | "inner too early" | "inner too late" }
  | {
      readonly kind: "already known" | "occupied" | "not now" | "waiver unusable" | "disputed" | "ambiguous";
      /** The node's own words. */
      readonly message: string;
    }
  | {
      readonly kind: "refused";
      readonly reason: Reason;
      readonly message: string;
      /** The values that the node gives, for the details of the submission's error. */
      readonly values?: ErrorValues;
    };

/** The names of the verdicts. */
export type SendVerdictKind = SendVerdict["kind"];

/** The error object of a JSON-RPC answer. */
export interface NodeError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** Verdicts on the stable reasons that validators give in `data.reason` (D13). All others are `refused`. */
const BY_REASON: Partial<Record<Reason, SendVerdictKind>> = {
  WRAPPER_NONCE_TOO_LOW: "nonce too low",
  WRAPPER_NONCE_GAP: "nonce gap",
  WAIVER_NOT_REGISTERED: "waiver unusable",
  NONCE_GAP: "inner too early",
  NONCE_TOO_LOW: "inner too late",
};

/** Verdicts on wordings; the first match counts: geth, reth, Erigon, Besu, Nethermind, anvil, and nodes on CometBFT. */
const BY_MESSAGE: readonly (readonly [RegExp, SendVerdictKind])[] = [
  [
    /already ?known|already imported|AlreadyKnown|\bknown transaction|existing txn? with same hash|(tx|txn|transaction) already exists|already in (the )?(cache|mempool|pool)/i,
    "already known",
  ],
  [
    /replacement transaction|replacement not allowed|ReplacementNotAllowed|replacement.*underpriced|could not replace existing|gas price to replace existing/i,
    "occupied",
  ],
  // The node knows no waivers, or not this one, and wants to be paid.
  [
    /underpriced|FeeTooLow|fee too low|insufficient fee|max fee per gas less than|gas price .*(below|too low)/i,
    "waiver unusable",
  ],
  [/nonce too low|OldNonce|nonce is too low|nonce is lower than account nonce/i, "nonce too low"],
  // Besu keeps nothing behind a nonce whose transaction it found invalid. Delegated accounts (EIP-7702) have no queue in
  // geth.
  [
    /nonce too high|nonce gap|NonceGap|nonce is higher than account nonce|nonce is too distant|gapped-nonce|invalid transaction with a lower nonce exists/i,
    "nonce gap",
  ],
  // The transaction breaks a rule of the node that no later block changes.
  [
    /oversized data|transaction size \d+,? (limit|exceeds)|\btx too large\b|intrinsic gas (too low|exceeds gas limit)|floor data gas|exceeds block gas limit|gas limit (is )?too high/i,
    "refused",
  ],
  [
    /txpool is full|transaction pool is full|sub-?pool is full|mempool is full|queue (is )?full|pool size constraints|tries to replace pending|initial sync is still in progress|(?<!gas )limit (reached|exceeded)|rate limit|too many requests/i,
    "not now",
  ],
];

/** Nodes on CometBFT use the same words for both directions (cosmos/evm, ethermint; the Cosmos SDK). */
const INVALID_SEQUENCE =
  /invalid nonce; got (?<got>\d+), expected (?<expected>\d+)|sequence mismatch, expected (?<sdkExpected>\d+), got (?<sdkGot>\d+)/i;

/** EIP-1474: a request exceeds a defined limit. */
const LIMIT_EXCEEDED = -32_005;

/** At a gas price of 0, only the value that the InnerTx carries can be missing. */
const INSUFFICIENT_FUNDS = /insufficient funds|InsufficientFunds/i;

/** EIP-3607, in the words of geth, reth, Besu and Nethermind. */
const SENDER_IS_CONTRACT =
  /sender (is )?not an eoa|SenderIsContract|senders? (\S+ )?(has|with) deployed code|signer has bytecode/i;

/**
 * Classifies the JSON-RPC error with which a node answered `eth_sendRawTransaction`. It never returns `accepted`, which
 * takes the wrapper's hash, nor `ambiguous`, which is for a caller who got no answer.
 * @example
 * ```ts
 * const { kind } = classifySendError({ code: -32000, message: "already known" });
 * console.log(kind); // "already known": sending the same bytes twice is no failure
 * ```
 */
export function classifySendError({ code, message, data }: NodeError): SendVerdict {
  const reason = reasonIn(data);
  if (reason !== undefined) return classifyReason(reason, message, data);
  const sequence = INVALID_SEQUENCE.exec(message)?.groups;
  if (sequence !== undefined) {
    const got = BigInt(sequence.got ?? sequence.sdkGot ?? 0);
    return {
      kind: got < BigInt(sequence.expected ?? sequence.sdkExpected ?? 0) ? "nonce too low" : "nonce gap",
    };
  }
  if (INSUFFICIENT_FUNDS.test(message)) {
    return { kind: "refused", reason: "INSUFFICIENT_BALANCE", message };
  }
  if (SENDER_IS_CONTRACT.test(message)) return { kind: "refused", reason: "SENDER_IS_CONTRACT", message };
  const byMessage = BY_MESSAGE.find(([wording]) => wording.test(message))?.[1];
  const kind = byMessage ?? (code === LIMIT_EXCEEDED ? "not now" : "disputed");
  if (kind !== "refused") return { kind, message };
  return {
    kind,
    reason: "NODE_REFUSED",
    message,
    values: detailValuesOf("NODE_REFUSED", { nodeCode: code, nodeMessage: message }),
  };
}

function classifyReason(reason: Reason, message: string, data: unknown): SendVerdict {
  const kind = BY_REASON[reason] ?? "refused";
  if (kind !== "refused") return { kind, message };
  // The values come from a node, so only those that the reason has are kept.
  return { kind, reason, message, values: detailValuesOf(reason, data as Readonly<Record<string, unknown>>) };
}

function reasonIn(data: unknown): Reason | undefined {
  if (typeof data !== "object" || data === null || !("reason" in data)) return undefined;
  const { reason } = data;
  return typeof reason === "string" && isValidatorReason(reason) ? reason : undefined;
}
