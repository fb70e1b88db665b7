import type { Hex } from "@gas-waiver/protocol";

/** What may happen to a whole HTTP exchange or WebSocket message; at most one of them does. */
export const EXCHANGE_FAULTS = [
  // The node has not seen the request:
  "drop",
  "reset",
  "http500",
  "http429",
  "garbage",
  "empty",
  // The node has done what was asked, and the answer is lost:
  "afterDrop",
  "afterReset",
  "afterHttp500",
  "afterGarbage",
  "afterEmpty",
  // The node has done the first requests of a batch, or none, or all; then the connection is reset:
  "partReset",
] as const;

/** What may happen to one call, alone or within a batch; at most one of them does. */
export const CALL_FAULTS = ["error", "afterError", "forget"] as const;

/** Answers to the next so many transactions that are sent; with "after", the node has taken them all the same. */
export const SEND_ANSWERS = [
  "alreadyKnown",
  "nonceTooLow",
  "underpriced",
  "afterAlreadyKnown",
  "afterNonceTooLow",
  "afterUnderpriced",
] as const;

export type ExchangeFault = (typeof EXCHANGE_FAULTS)[number];
export type CallFault = (typeof CALL_FAULTS)[number];
export type SendAnswer = (typeof SEND_ANSWERS)[number];

/** A change of the registry by the validators, in a block to come. */
export interface PlannedChange {
  readonly waiver: Hex;
  readonly block: number;
}

/** What goes wrong, and how often. Shares are from 0 to 1 and 0 unless given. */
export interface FaultSettings
  extends Partial<Record<ExchangeFault | CallFault | SendAnswer | "delay" | "cutSockets", number>> {
  /** Which run of luck; the same seed and the same requests have the same faults. Default 1. */
  readonly seed?: number;
  /** Whose calls are affected; `*` is every method but the controls. Default: `eth_sendRawTransaction`. */
  readonly methods?: readonly string[];
  /** How long a delay is, in ms: from the first up to the second. Default 100 to 1,000. */
  readonly delayMs?: readonly [number, number];
  /** Waivers that lose their registration in a block. */
  readonly revoke?: readonly PlannedChange[];
  /** Waivers that get their registration back, with the targets they had. */
  readonly register?: readonly PlannedChange[];
}

export const SEND_METHOD = "eth_sendRawTransaction";
export const DEFAULT_DELAY_MS: readonly [number, number] = [100, 1_000];
export const DEFAULT_SEED = 1;

/** Methods that steer the node; no fault ever touches them. */
export function isControl(method: string): boolean {
  return /^(devnet|evm|anvil|hardhat)_/.test(method);
}
