import type { WaiverAccount } from "@gas-waiver/protocol";
import { StartError } from "@gas-waiver/server";
import type { Context } from "../command.js";
import { CommandFailedError } from "../errorMessage.js";
import { UsageError } from "../settings/readSettings.js";
import type { Settings, Values } from "../settings/setting.js";

/** A custody of waivers' keys (D33): everything that the command line knows of it beside its settings. */
interface CustodyOf<S extends Settings> {
  /** The settings of which one chooses this custody. */
  readonly chosenBy: readonly (keyof S & string)[];
  /** Settings that lack another one, one sentence each. Values that do not parse are absent. */
  problems?(values: Partial<Values<S>>): readonly string[];
  /** The waivers' addresses, 20 bytes each, as far as the settings name them without a passphrase or a call. */
  addresses(values: Partial<Values<S>>): readonly Uint8Array[];
  /** Opens what can be opened. */
  open(values: Values<S>, terms: OpeningTerms): Promise<WaiverOpening>;
}

/** A custody whose functions take the values of all custodies, and read their own. */
export interface Custody {
  readonly chosenBy: readonly string[];
  problems?(values: object): readonly string[];
  addresses(values: object): readonly Uint8Array[];
  open(values: object, terms: OpeningTerms): Promise<WaiverOpening>;
}

/** Defines a custody by its settings and by functions of their values. */
export function defineCustody<const S extends Settings>(_settings: S, custody: CustodyOf<S>): Custody {
  return custody as Custody;
}

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
