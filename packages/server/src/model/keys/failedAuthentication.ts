import type { Reason } from "@gas-waiver/protocol";

/** The HTTP interfaces that authenticate their clients. */
export type AuthenticatedInterface = "api" | "admin";

/** One request that showed a key or token that is not valid, or that may not do this. */
export interface FailedAuthentication {
  readonly interface: AuthenticatedInterface;
  readonly address: string;
  readonly reason: Reason;
  /** The id in the key, if it has the form of a key of the store. It need not exist. */
  readonly keyId?: string | undefined;
  /** The name of the admin token, if it is known. */
  readonly actor?: string | undefined;
}

/** Failures with the same address, interface, reason and actor. */
export interface FailureCount extends Omit<FailedAuthentication, "keyId"> {
  readonly count: number;
}
