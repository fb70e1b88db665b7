import {
  type AllowedTarget,
  type AllowedTargetJson,
  allowedTargetsToJson,
  describeValue,
  InvalidAllowedTargetError,
  ProtocolError,
  parseAllowedTargets,
} from "@gas-waiver/protocol";
import type { KeyCaps, KeyLimits } from "./caller.js";

/** What is set for one key (D25); what is not set is the service's. */
export interface KeyTerms {
  readonly limits: Partial<KeyLimits>;
  /** Undefined: no own scope. An empty list permits nothing (D4). */
  readonly allowedTargets: readonly AllowedTarget[] | undefined;
  readonly caps: KeyCaps;
}

/** What holds for a key where what is set for it is not understood. */
export const PERMITS_NOTHING: KeyTerms = { limits: {}, allowedTargets: [], caps: {} };

/** The same as JSON: in the store, in the admin API, on the command line. Gas is decimal text. */
export interface KeyTermsJson {
  readonly limits?: { readonly [K in keyof KeyLimits]?: number | string };
  readonly allowedTargets?: readonly AllowedTargetJson[];
  readonly caps?: { readonly [K in keyof KeyCaps]?: number | string };
}

/** Says what is wrong with a value: "is 0, not a whole number …". */
type Read<T> = (value: unknown) => T;

const LIMITS: { readonly [K in keyof KeyLimits]-?: Read<NonNullable<KeyLimits[K]>> } = {
  ratePerSecond: wholeNumber(1, 1_000_000),
  rateBurst: wholeNumber(1, 1_000_000),
  queueShare: share,
  maxBatchSize: wholeNumber(1, 10_000),
  maxBodyBytes: wholeNumber(1_024, 2 ** 31),
  maxGasLimit: gas(21_000n),
  maxDataLength: wholeNumber(0, 2 ** 31),
};

const CAPS: { readonly [K in keyof KeyCaps]-?: Read<NonNullable<KeyCaps[K]>> } = {
  transactions: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  gas: gas(0n),
  senderTransactions: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  senderGas: gas(0n),
};

/**
 * Reads what is set for a key.
 * @throws {@link ProtocolError} `INVALID_KEY_TERMS` with every problem.
 */
export function parseTerms(input: unknown): KeyTerms {
  const problems: string[] = [];
  const { limits, allowedTargets, caps, ...others } = objectOf("the terms", input, problems);
  for (const name of Object.keys(others)) problems.push(`${name} is nothing that can be set`);
  const terms = {
    limits: readAll("limits", LIMITS, limits, problems) as Partial<KeyLimits>,
    allowedTargets: readTargets(allowedTargets, problems),
    caps: readAll("caps", CAPS, caps, problems) as KeyCaps,
  };
  const { rateBurst, maxBatchSize } = terms.limits;
  if (rateBurst !== undefined && maxBatchSize !== undefined && rateBurst < maxBatchSize) {
    problems.push(`limits.rateBurst is ${rateBurst}: a batch of maxBatchSize (${maxBatchSize}) never passes`);
  }
  if (problems.length > 0) throw invalidTerms(problems);
  return terms;
}

export function termsToJson({ limits, allowedTargets, caps }: KeyTerms): KeyTermsJson {
  return {
    ...(Object.keys(limits).length > 0 && { limits: textual(limits) }),
    ...(allowedTargets && { allowedTargets: allowedTargetsToJson(allowedTargets) }),
    ...(Object.keys(caps).length > 0 && { caps: textual(caps) }),
  };
}

/**
 * The terms with a change: what the change names is set, or with `null` is no longer set; the rest stays.
 * @throws {@link ProtocolError} `INVALID_KEY_TERMS`.
 */
export function changeTerms(before: KeyTerms, change: unknown): KeyTerms {
  const problems: string[] = [];
  const { limits, allowedTargets, caps, ...others } = objectOf("the change", change, problems);
  if (problems.length > 0) throw invalidTerms(problems);
  const old = termsToJson(before);
  return parseTerms({
    ...others,
    limits: merged("limits", old.limits, limits),
    allowedTargets: allowedTargets === undefined ? old.allowedTargets : (allowedTargets ?? undefined),
    caps: merged("caps", old.caps, caps),
  });
}

export function invalidTerms(problems: readonly string[]): ProtocolError {
  return new ProtocolError("INVALID_KEY_TERMS", problems.join("; "));
}

function merged(name: string, before: object | undefined, change: unknown): object | undefined {
  if (change === null) return undefined;
  if (change === undefined) return before;
  const problems: string[] = [];
  const all = Object.entries({ ...before, ...objectOf(name, change, problems) });
  if (problems.length > 0) throw invalidTerms(problems);
  return Object.fromEntries(all.filter(([, value]) => value !== null));
}

function objectOf(name: string, value: unknown, problems: string[]): Record<string, unknown> {
  if (value === undefined) return {};
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  problems.push(`${name} is ${describeValue(value)}, not an object`);
  return {};
}

function readAll(
  group: string,
  readers: Readonly<Record<string, Read<unknown>>>,
  input: unknown,
  problems: string[],
): object {
  const read: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(objectOf(group, input, problems))) {
    if (value === undefined) continue;
    const reader = Object.hasOwn(readers, name) ? readers[name] : undefined;
    try {
      if (reader === undefined) throw new UnfitError("is nothing that can be set");
      read[name] = reader(value);
    } catch (error) {
      if (!(error instanceof UnfitError)) throw error;
      problems.push(`${group}.${name} ${error.message}`);
    }
  }
  return read;
}

function readTargets(input: unknown, problems: string[]): readonly AllowedTarget[] | undefined {
  try {
    return input === undefined ? undefined : parseAllowedTargets(input);
  } catch (error) {
    if (!(error instanceof InvalidAllowedTargetError)) throw error;
    problems.push(error.message);
    return undefined;
  }
}

function textual(values: object): Record<string, number | string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, typeof value === "bigint" ? `${value}` : value]),
  );
}

function wholeNumber(least: number, most: number): Read<number> {
  return (value) => {
    if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) {
      return value as number;
    }
    throw new UnfitError(`is ${describeValue(value)}, not a whole number from ${least} to ${most}`);
  };
}

function share(value: unknown): number {
  if (typeof value === "number" && value > 0 && value <= 1) return value;
  throw new UnfitError(`is ${describeValue(value)}, not a number above 0 and at most 1`);
}

/** Gas, as a whole number or decimal text; the store keeps sums of it as bigint. */
function gas(least: bigint): Read<bigint> {
  return (value) => {
    const isNumber = Number.isSafeInteger(value) || (typeof value === "string" && /^\d{1,18}$/.test(value));
    const amount = isNumber ? BigInt(value as number | string) : -1n;
    if (amount >= least) return amount;
    throw new UnfitError(`is ${describeValue(value)}, not a whole number of at least ${least} and 18 digits`);
  };
}

/** Says what a value is, where it is not what it must be. */
class UnfitError extends Error {
  override readonly name = "UnfitError";
}
