import type { Verdict } from "../policy/AllowedTarget.js";

type MaybePromise<T> = T | Promise<T>;

/** The state of the chain that the validators' rules read. Addresses are 20 bytes. */
export interface ChainView {
  readonly chainId: bigint;
  /** The gas for unwrapping and verification that a wrapper's limit must cover: a parameter of the chain (D7). */
  readonly verificationGas: bigint;
  isWaiver(address: Uint8Array): MaybePromise<boolean>;
  /** Returns the verdict of the waiver's AllowedTarget policy (D4). */
  isAllowed(waiver: Uint8Array, to: Uint8Array, data: Uint8Array): MaybePromise<Verdict>;
  /** Returns the next nonce of an account. */
  nonceOf(address: Uint8Array): MaybePromise<bigint>;
  /** Returns the code of an account; no bytes if it has none. */
  codeOf(address: Uint8Array): MaybePromise<Uint8Array>;
  /** Returns the balance of an account, in wei. */
  balanceOf(address: Uint8Array): MaybePromise<bigint>;
}

/**
 * The rule for nonces. `exact`: a nonce must be the account's next (a strict pool, and every block). `gaps`: a
 * nonce further ahead may wait (a queueing pool).
 */
export type NonceRule = "exact" | "gaps";
