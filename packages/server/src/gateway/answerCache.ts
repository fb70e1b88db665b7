import type { RpcCall } from "../chain/rpc.js";

/** Remembers answers that cannot change. */
export interface AnswerCache {
  /** @returns undefined if the answer is not known. */
  get(key: string): { readonly result: unknown } | undefined;
  /** Remembers the answer if it cannot change any more. */
  add(key: string, call: RpcCall, result: unknown): void;
}

/** Remembers nothing. */
export const NO_CACHE: AnswerCache = { get: () => undefined, add() {} };
