import { isReason, type Reason } from "@gas-waiver/protocol";
import { RpcError, type RpcOutcome } from "./rpc.js";

/**
 * What a node's answer to eth_sendRawTransaction means.
 *
 * - `accepted`: it has the wrapper, now or from before.
 * - `nonce too low`: the chain has used the wrapper's nonce; the chain tells for what.
 * - `nonce gap`: it surely has not taken the wrapper: an earlier nonce is missing (a strict pool).
 * - `occupied`: another wrapper waits under this nonce; with a gas price of 0 nothing can replace it.
 * - `not now`: it surely has not taken the wrapper, and may do so later (pool full, rate limited, not reached).
 * - `waiver unusable`: no wrapper of this waiver is taken; nothing is wrong with the InnerTx.
 * - `refused`: it refuses this InnerTx for good, by the rule named.
 * - `inner too early`: the user's earlier transaction is missing.
 * - `inner too late`: the user's nonce is used: by this InnerTx or by another transaction; the chain tells.
 * - `disputed`: it answered an error that we do not know; whether it has the wrapper must be looked up.
 * - `ambiguous`: it may have the wrapper. The same bytes are sent again, never another nonce.
 */
export type SendVerdict =
  | { readonly kind: "accepted" | "nonce too low" | "nonce gap" | "inner too early" | "inner too late" }
  | {
      readonly kind: "occupied" | "not now" | "waiver unusable" | "disputed" | "ambiguous";
      readonly said: string;
    }
  | { readonly kind: "refused"; readonly reason: Reason; readonly said: string };

type Kind = SendVerdict["kind"];

/** By the stable reason that our devnet's validators give in `data.reason`. Others are `refused`. */
const BY_REASON: Partial<Record<Reason, Kind>> = {
  WRAPPER_NONCE_TOO_LOW: "nonce too low",
  WRAPPER_NONCE_GAP: "nonce gap",
  WAIVER_NOT_REGISTERED: "waiver unusable",
  NONCE_GAP: "inner too early",
  NONCE_TOO_LOW: "inner too late",
};

/** Refusals that say something of the user's account, and so keep their own name. */
const OWN_NAME: ReadonlySet<Reason> = new Set(["INSUFFICIENT_BALANCE"]);

/** By wording, first match: geth, erigon, nethermind, anvil, and CometBFT-based nodes. */
const BY_MESSAGE: readonly (readonly [RegExp, Kind])[] = [
  [
    /already ?known|already imported|AlreadyKnown|\bknown transaction|existing txn? with same hash|tx already (exists )?in (cache|mempool)/i,
    "accepted",
  ],
  [
    /replacement transaction|replacement not allowed|ReplacementNotAllowed|replacement.*underpriced|could not replace existing/i,
    "occupied",
  ],
  // A node that knows nothing of waivers, or not of this one: it wants to be paid.
  [
    /underpriced|FeeTooLow|fee too low|insufficient fee|max fee per gas less than|gas price .*(below|too low)/i,
    "waiver unusable",
  ],
  [/nonce too low|OldNonce|nonce is too low/i, "nonce too low"],
  [/nonce too high|nonce gap|NonceGap/i, "nonce gap"],
  [
    /txpool is full|transaction pool is full|sub-?pool is full|mempool is full|queue is full|(?<!gas )limit (reached|exceeded)|rate limit|too many requests/i,
    "not now",
  ],
];

/** CometBFT-based nodes say both directions in the same words (cosmos/evm, ethermint; the Cosmos SDK). */
const INVALID_SEQUENCE =
  /invalid nonce; got (?<got>\d+), expected (?<next>\d+)|sequence mismatch, expected (?<due>\d+), got (?<given>\d+)/i;

/** EIP-1474: a request exceeds a defined limit. */
const LIMIT_EXCEEDED = -32_005;

/** At a gas price of 0 only the value that the InnerTx carries can be missing. */
const INSUFFICIENT_FUNDS = /insufficient funds|InsufficientFunds|insufficient balance/i;

/** The meaning of one answer. */
export function classifySendOutcome(outcome: RpcOutcome): SendVerdict {
  if (!("error" in outcome)) return { kind: "accepted" };
  const { error } = outcome;
  const said = error.message;
  if (!(error instanceof RpcError)) return { kind: error.sent === "no" ? "not now" : "ambiguous", said };
  const reason = reasonIn(error.data);
  if (reason !== undefined) return meaningOfReason(reason, said);
  const sequence = INVALID_SEQUENCE.exec(said)?.groups;
  if (sequence !== undefined) {
    const got = BigInt(sequence.got ?? sequence.given ?? 0);
    return { kind: got < BigInt(sequence.next ?? sequence.due ?? 0) ? "nonce too low" : "nonce gap" };
  }
  if (INSUFFICIENT_FUNDS.test(said)) return { kind: "refused", reason: "INSUFFICIENT_BALANCE", said };
  const byMessage = BY_MESSAGE.find(([wording]) => wording.test(said))?.[1];
  const kind = byMessage ?? (error.code === LIMIT_EXCEEDED ? "not now" : "disputed");
  return kind === "refused" ? { kind, reason: "NODE_REFUSED", said } : { kind, said };
}

function meaningOfReason(reason: Reason, said: string): SendVerdict {
  const kind = BY_REASON[reason] ?? "refused";
  if (kind !== "refused") return { kind, said };
  return { kind, reason: OWN_NAME.has(reason) ? reason : "NODE_REFUSED", said };
}

function reasonIn(data: unknown): Reason | undefined {
  if (typeof data !== "object" || data === null || !("reason" in data)) return undefined;
  const { reason } = data;
  return typeof reason === "string" && isReason(reason) ? reason : undefined;
}
