import { type Hex, STABLE } from "@gas-waiver/protocol";

/** The faults of a whole HTTP exchange or WebSocket message. At most one strikes an exchange. */
export const EXCHANGE_FAULTS = [
  // The node does not see the request:
  "drop",
  "reset",
  "http500",
  "http429",
  "garbage",
  "empty",
  // The node executes the request, and the response is lost:
  "afterDrop",
  "afterReset",
  "afterHttp500",
  "afterGarbage",
  "afterEmpty",
  // The node executes the first requests of a batch, or none, or all. Then the connection is reset:
  "partReset",
] as const;

/** The faults of one call, alone or in a batch. At most one strikes a call. */
export const CALL_FAULTS = ["error", "afterError", "forget"] as const;

/** Errors for the next transactions that are sent, by count. With "after" the node takes the transaction first. */
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

/** A change of the registry by the validators in a future block. */
export interface PlannedChange {
  readonly waiver: Hex;
  readonly block: number;
}

/** The faults of a devnet. A share is from 0 to 1, by default 0. */
export interface FaultSettings
  extends Partial<Record<ExchangeFault | CallFault | SendAnswer | "delay" | "cutSockets", number>> {
  /** The same seed and the same requests give the same faults. Default 1. */
  readonly seed?: number;
  /** The methods whose calls are affected. `*` is every method but the controls. Default: `eth_sendRawTransaction`. */
  readonly methods?: readonly string[];
  /** The shortest and the longest delay, in ms. Default 100 and 1,000. */
  readonly delayMs?: readonly [number, number];
  /** The most HTTP requests of one address in a window, as public endpoints have it; others get 429. Default: no limit. */
  readonly rateLimit?: number;
  /** The length of the window, in ms. Default 10,000. */
  readonly rateWindowMs?: number;
  /** Waivers that are revoked, each in a block. */
  readonly revoke?: readonly PlannedChange[];
  /** Waivers that are registered again with the targets they had, each in a block. */
  readonly register?: readonly PlannedChange[];
}

export const SEND_METHOD = "eth_sendRawTransaction";
export const DEFAULT_DELAY_MS: readonly [number, number] = [100, 1_000];
export const DEFAULT_RATE_WINDOW_MS = STABLE.publicRpcLimit.windowMs;
export const DEFAULT_SEED = 1;

/** Whether a method controls the node. No fault affects these methods. */
export function isControl(method: string): boolean {
  return /^(devnet|evm|anvil|hardhat)_/.test(method);
}
