import type { Hex } from "@gas-waiver/protocol";

/** A line that a user was told, with its virtual time in ms. */
export interface ToldLine {
  readonly at: number;
  readonly replica: string;
  readonly success: boolean;
  readonly code: string | undefined;
  readonly reason: string | undefined;
  readonly message: string | undefined;
}

/** One InnerTx of a user, and what came of it as far as the user knows. */
export interface UserSubmission {
  readonly user: number;
  readonly sender: Hex;
  readonly nonce: number;
  readonly raw: Hex;
  readonly innerHash: Hex;
  readonly wait: "broadcast" | "included";
  /** The time of the first request with it, or of the first one after it had failed, in ms. */
  triedAt: number;
  /** The time at which a replica first took a request with it. */
  acceptedAt?: number;
  readonly lines: ToldLine[];
  /** The refusals of whole requests, with their times. */
  readonly refusals: { readonly at: number; readonly message: string }[];
  /** The name of the replica that was asked last. */
  asked: string;
}

export function nameOf({ user, nonce }: Pick<UserSubmission, "user" | "nonce">): string {
  return `nonce ${nonce} of user ${user}`;
}

/** Whether a line ends a submission for good. After `TIMEOUT` it goes on; only the record tells. */
export function isFailure({ success, code }: ToldLine): boolean {
  return !success && code !== "TIMEOUT";
}
