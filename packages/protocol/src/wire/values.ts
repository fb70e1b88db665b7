// The single values that bodies are made of: their types, and how a reader checks them.
import type { KindTypes } from "../reasons/detailNames.js";

/** The client's own name for a request over a WebSocket. Every frame of the answer repeats it (D23). */
export type RequestId = string | number;

/** Every line repeats the id of its request, so the length is limited. */
export const MAX_REQUEST_ID_LENGTH = 256;

/** The kinds of single values, with their types. */
export interface Kinds extends Pick<KindTypes, "address" | "hash" | "decimal" | "number" | "text" | "time"> {
  /** The hash of the InnerTx (D6). */
  txHash: string;
  /** The first four bytes of calldata as 0x-prefixed hex. */
  selector: string;
  /** The id of a submission (D15). */
  submissionId: string;
  requestId: RequestId;
  /** The `request` of an answer: the id of its request, or null for a request without one. */
  requestName: RequestId | null;
  boolean: boolean;
  /** A whole number from 0 on. */
  count: number;
  /** A whole number from 1 on. */
  chainId: number;
}

export type Kind = keyof Kinds;

/** Tells whether the value is a whole number from 0 on that a double holds exactly. */
export function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/** Tells whether the value is a 0x-prefixed hash, in either case. */
export function isHash(value: unknown): value is string {
  return typeof value === "string" && /^0x[0-9a-f]{64}$/i.test(value);
}

export function isRequestId(value: unknown): value is RequestId {
  return typeof value === "string" ? value.length <= MAX_REQUEST_ID_LENGTH : Number.isFinite(value);
}

export function isRequestName(value: unknown): value is RequestId | null {
  return value === null || isRequestId(value);
}

/** Tells whether the value is an object with members, and no array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the members of an object, and none of any other value. */
export function membersOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}
