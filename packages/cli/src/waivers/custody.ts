import type { WaiverAccount } from "@gas-waiver/protocol";
import { StartError } from "@gas-waiver/server";
import type { Context } from "../command.js";
import { CommandFailedError } from "../errorMessage.js";
import { UsageError } from "../settings/readSettings.js";

export interface OpeningTerms {
  readonly chainId: number;
  readonly timeoutMs: number | undefined;
  readonly print: Context["print"];
  /** Reads the passphrase of keystores, once. */
  passphrase(): Promise<string>;
}

/** The waivers that could be opened, and one reason for each other one. */
export interface WaiverOpening {
  readonly waivers: readonly WaiverAccount[];
  readonly failures: readonly Error[];
}

/** Joins openings. A signer says once that it is away, and a passphrase that is missing is missing once. */
export function together(parts: readonly WaiverOpening[]): WaiverOpening {
  const failures = parts
    .flatMap((part) => part.failures)
    .map((failure) => [failure.message, failure] as const);
  return { waivers: parts.flatMap(({ waivers }) => waivers), failures: [...new Map(failures).values()] };
}

/** Opens keys of which either all can be used or none. */
export async function allOrNone(open: () => Promise<readonly WaiverAccount[]>): Promise<WaiverOpening> {
  try {
    return { waivers: await usable(open), failures: [] };
  } catch (error) {
    return { waivers: [], failures: [asFailure(error)] };
  }
}

/** Opens a custody. @throws {@link CommandFailedError} with the reason why it is of no use. */
export async function usable<T>(open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    if (error instanceof StartError) throw new CommandFailedError(error.message, { cause: error });
    throw error;
  }
}

/** Returns the error if it is about a key that cannot be used. @throws the others. */
function asFailure(error: unknown): Error {
  if (error instanceof UsageError || error instanceof CommandFailedError) return error;
  throw error;
}
