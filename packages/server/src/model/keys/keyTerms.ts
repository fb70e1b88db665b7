import {
  type AllowedTarget,
  type AllowedTargetJson,
  allowedTargetsToJson,
  describeValue,
  InvalidAllowedTargetError,
  ProtocolError,
  parseAllowedTargets,
} from "@gas-waiver/protocol";
import { isKeyOrigin, WALLETS } from "../options/origins.js";
import type { KeyCaps, KeyLimits } from "./caller.js";

/** The limits, scope and caps that are set for one key (D25). The service's values stand in for the rest. */
export interface KeyTerms {
  readonly limits: Partial<KeyLimits & AddressLimits>;
  /** Undefined: no scope of its own. An empty list permits nothing (D4). */
  readonly allowedTargets: readonly AllowedTarget[] | undefined;
  readonly caps: KeyCaps;
  /** The origins that may use a publishable key (D32). Undefined: the key is secret. */
  readonly origins?: readonly string[];
}

/** The limits of each address under a publishable key (D32), on one replica. */
export interface AddressLimits {
  readonly addressRatePerSecond: number;
  readonly addressRateBurst: number;
}

/**
 * The limits of an address under a publishable key that sets none: an office behind one address can send 50 transactions
 * at once, and a page that runs wild sends 5 a second.
 */
export const DEFAULT_ADDRESS_LIMITS: AddressLimits = { addressRatePerSecond: 5, addressRateBurst: 50 };

/** The terms of a key whose stored terms this version does not understand. */
export const PERMITS_NOTHING: KeyTerms = { limits: {}, allowedTargets: [], caps: {} };

/**
 * The daily caps of each sender under a new key, where its input names no others. 500 transactions are one every three
 * minutes around the clock, and 50,000,000 gas are 500 calls of 100,000, or five of the largest transactions that the service
 * takes by default.
 */
export const DEFAULT_SENDER_CAPS = {
  senderTransactions: 500,
  senderGas: 50_000_000n,
} as const satisfies KeyCaps;

/**
 * The daily caps of a new publishable key: of each sender the need of a person, and of all together that of a hundred such
 * people. Anybody can make senders and rent addresses, and must not spend without a bound.
 */
export const DEFAULT_PUBLISHABLE_CAPS = {
  transactions: 10_000,
  gas: 1_000_000_000n,
  senderTransactions: 100,
  senderGas: 10_000_000n,
} as const satisfies KeyCaps;

/** Key terms as JSON, in the store, the admin API and on the command line. Gas is decimal text. */
export interface KeyTermsJson {
  readonly limits?: { readonly [K in keyof (KeyLimits & AddressLimits)]?: number | string };
  readonly allowedTargets?: readonly AllowedTargetJson[];
  readonly caps?: { readonly [K in keyof KeyCaps]?: number | string };
  readonly origins?: readonly string[];
}

/** Reads a value. @throws {@link UnfitError} such as "is the number 0, not a whole number from 1 to 10". */
type Reader<T> = (value: unknown) => T;

const ADDRESS_LIMITS: { readonly [K in keyof AddressLimits]: Reader<AddressLimits[K]> } = {
  addressRatePerSecond: wholeNumber(1, 1_000_000),
  addressRateBurst: wholeNumber(1, 1_000_000),
};

const LIMITS: { readonly [K in keyof KeyLimits]-?: Reader<NonNullable<KeyLimits[K]>> } = {
  ratePerSecond: wholeNumber(1, 1_000_000),
  rateBurst: wholeNumber(1, 1_000_000),
  queueShare: share,
  maxBatchSize: wholeNumber(1, 10_000),
  maxBodyBytes: wholeNumber(1_024, 2 ** 31),
  maxGasLimit: gas(21_000n),
  maxDataLength: wholeNumber(0, 2 ** 31),
};

const CAPS: { readonly [K in keyof KeyCaps]-?: Reader<NonNullable<KeyCaps[K]>> } = {
  transactions: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  gas: gas(0n),
  senderTransactions: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  senderGas: gas(0n),
};

/**
 * Reads the terms of a key.
 * @throws {@link ProtocolError} `INVALID_KEY_TERMS` with every problem.
 */
export function parseTerms(input: unknown): KeyTerms {
  const problems: string[] = [];
  const { limits, allowedTargets, caps, origins, ...unknownMembers } = objectOf(
    "the set of terms",
    input,
    problems,
  );
  for (const name of Object.keys(unknownMembers)) problems.push(`${name} is not a known setting`);
  const readOrigins = origins === undefined ? undefined : originsOf(origins, problems);
  const limitReaders = readOrigins === undefined ? LIMITS : { ...LIMITS, ...ADDRESS_LIMITS };
  const terms: KeyTerms = {
    limits: readAll("limits", limitReaders, limits, problems) as KeyTerms["limits"],
    allowedTargets: readTargets(allowedTargets, problems),
    caps: readAll("caps", CAPS, caps, problems) as KeyCaps,
    ...(readOrigins && { origins: readOrigins }),
  };
  if (readOrigins) problems.push(...publishableProblems(terms, allowedTargets !== undefined));
  const { rateBurst, maxBatchSize } = terms.limits;
  if (rateBurst !== undefined && maxBatchSize !== undefined && rateBurst < maxBatchSize) {
    problems.push(`limits.rateBurst is ${rateBurst}: a batch of maxBatchSize (${maxBatchSize}) never passes`);
  }
  if (problems.length > 0) throw invalidTerms(problems);
  return terms;
}

/** D32: a publishable key is bound to a policy and to caps for each sender. */
function publishableProblems({ caps, limits }: KeyTerms, hasTargets: boolean): string[] {
  const problems: string[] = [];
  if (!hasTargets) {
    problems.push("a publishable key needs allowedTargets, the contracts that it may call");
  }
  if (caps.senderTransactions === undefined || caps.senderGas === undefined) {
    problems.push("a publishable key needs the caps senderTransactions and senderGas");
  }
  const { addressRateBurst, maxBatchSize } = limits;
  if (addressRateBurst !== undefined && maxBatchSize !== undefined && addressRateBurst < maxBatchSize) {
    problems.push(
      `limits.addressRateBurst is ${addressRateBurst}: a batch of maxBatchSize (${maxBatchSize}) never passes`,
    );
  }
  return problems;
}

/** The most origins of one key. */
const MAX_ORIGINS = 100;

function originsOf(input: unknown, problems: string[]): readonly string[] {
  const entries: readonly unknown[] = Array.isArray(input) ? input : [];
  if (entries.length === 0 || entries.length > MAX_ORIGINS) {
    problems.push(`origins is ${describeValue(input)}, not a list of 1 to ${MAX_ORIGINS} origins`);
  }
  const origins = entries.filter((entry) => typeof entry === "string");
  for (const entry of entries) {
    if (typeof entry === "string" && isKeyOrigin(entry)) continue;
    const known = `an origin such as https://app.example.com (no path, no slash at the end), loopback, ${WALLETS} or *`;
    problems.push(`origins has ${describeValue(entry)}, which is not ${known}`);
  }
  return origins;
}

export function termsToJson({ limits, allowedTargets, caps, origins }: KeyTerms): KeyTermsJson {
  return {
    ...(origins && { origins }),
    ...(Object.keys(limits).length > 0 && { limits: withGasAsText(limits) }),
    ...(allowedTargets && { allowedTargets: allowedTargetsToJson(allowedTargets) }),
    ...(Object.keys(caps).length > 0 && { caps: withGasAsText(caps) }),
  };
}

/**
 * Applies a change to terms: sets the members that the change names, unsets those that are `null`, and keeps the rest.
 * @throws {@link ProtocolError} `INVALID_KEY_TERMS`.
 */
export function changeTerms(before: KeyTerms, change: unknown): KeyTerms {
  const problems: string[] = [];
  const {
    limits,
    allowedTargets,
    caps,
    origins: newOrigins,
    ...unknownMembers
  } = objectOf("the change", change, problems);
  if (problems.length > 0) throw invalidTerms(problems);
  const old = termsToJson(before);
  const origins = newOrigins === undefined ? old.origins : (newOrigins ?? undefined);
  return parseTerms({
    ...(origins !== undefined && { origins }),
    ...unknownMembers,
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
  readers: Readonly<Record<string, Reader<unknown>>>,
  input: unknown,
  problems: string[],
): object {
  const read: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(objectOf(group, input, problems))) {
    if (value === undefined) continue;
    const reader = Object.hasOwn(readers, name) ? readers[name] : undefined;
    try {
      if (reader === undefined) throw new UnfitError("is not a known setting");
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

function withGasAsText(values: object): Record<string, number | string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, typeof value === "bigint" ? `${value}` : value]),
  );
}

function wholeNumber(minimum: number, maximum: number): Reader<number> {
  return (value) => {
    if (Number.isSafeInteger(value) && (value as number) >= minimum && (value as number) <= maximum) {
      return value as number;
    }
    throw new UnfitError(`is ${describeValue(value)}, not a whole number from ${minimum} to ${maximum}`);
  };
}

function share(value: unknown): number {
  if (typeof value === "number" && value > 0 && value <= 1) return value;
  throw new UnfitError(`is ${describeValue(value)}, not a number above 0 and at most 1`);
}

/** Gas, as a whole number or decimal text; the store keeps sums of it as bigint. */
function gas(minimum: bigint): Reader<bigint> {
  return (value) => {
    const isNumber = Number.isSafeInteger(value) || (typeof value === "string" && /^\d{1,18}$/.test(value));
    const amount = isNumber ? BigInt(value as number | string) : -1n;
    if (amount >= minimum) return amount;
    throw new UnfitError(
      `is ${describeValue(value)}, not a whole number of at least ${minimum}, of at most 18 digits`,
    );
  };
}

/** A value does not fit. The message follows the member's name. */
class UnfitError extends Error {
  override readonly name = "UnfitError";
}
