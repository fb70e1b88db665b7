import type { Retry } from "./codes.js";
import { type DetailName, type DetailType, type Kind, type KindTypes, readDetails } from "./detailNames.js";
import { RECORDS, type Reason, type RecordOf } from "./index.js";

export type { DetailName } from "./detailNames.js";

type NamesOf<R extends Reason> =
  RecordOf<R> extends { readonly details: readonly (infer Name)[] } ? Name : never;

/** The reasons whose errors have values of their own in their details. Other reasons have `retry` alone. */
export type DetailedReason = { [R in Reason]: [NamesOf<R>] extends [never] ? never : R }[Reason];

/**
 * The details of an error of the reason. Each value is optional: a service leaves out what it does not know, and an older
 * one has no details.
 */
export type DetailsOf<R extends Reason> = { readonly retry?: Retry } & (R extends DetailedReason
  ? { readonly [Name in NamesOf<R> & DetailName]?: DetailType<Name> }
  : unknown);

/**
 * Returns the names of the values that the errors of the reason may have in their details.
 * @example
 * ```ts
 * detailNamesOf("NON_ZERO_GAS_PRICE"); // ["gasPrice"]
 * ```
 */
export function detailNamesOf(reason: Reason): readonly DetailName[] {
  return RECORDS[reason].details ?? [];
}

/** Returns the values that errors of the reason have in their details, if each value is of its kind. */
export function detailValuesOf(
  reason: Reason,
  values: Readonly<Record<string, unknown>>,
): Readonly<Record<string, KindTypes[Kind]>> {
  return readDetails(detailNamesOf(reason), values);
}
