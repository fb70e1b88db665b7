import { isIPv4 } from "node:net";
import { hexToBytes, InvalidAddressError, parseAddress, privateKeyToAddress } from "@gas-waiver/protocol";
import { listOf, type Parser, withForm } from "./form.js";
import { readText } from "./readText.js";
import { secretFileOf } from "./secretFile.js";
import { InvalidValueError } from "./setting.js";

/** Takes any text as it is. */
export function text(value: string): string {
  return value;
}

/** Takes any path as it is. */
export const path = withForm({ kind: "path" }, text);

/** Parses a whole number in decimal digits, from `least` to `most`. */
export function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER): Parser<number> {
  const isBounded = most < Number.MAX_SAFE_INTEGER;
  return withForm({ kind: "integer", minimum: least, ...(isBounded && { maximum: most }) }, (value) => {
    const number = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
    if (number >= least && number <= most) return number;
    const range = isBounded ? `from ${least} to ${most}` : `of at least ${least}`;
    throw new InvalidValueError(`is not a whole number ${range}`);
  });
}

/** Parses a decimal fraction above 0 and at most 1. */
export const share = withForm({ kind: "number", above: 0, maximum: 1 }, (value) => {
  const number = /^(\d(\.\d{1,9})?|\.\d{1,9})$/.test(value) ? Number(value) : Number.NaN;
  if (number > 0 && number <= 1) return number;
  throw new InvalidValueError("is not a number above 0 and at most 1");
});

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses a duration such as 90s, 15m, 12h or 30d into ms; 0 needs no unit. */
export function duration(value: string): number {
  if (value === "0") return 0;
  const [, count = "", unit = ""] = /^(\d{1,6})([smhd])$/.exec(value) ?? [];
  const factor = UNITS[unit];
  if (factor !== undefined) return Number(count) * factor;
  throw new InvalidValueError("is not a span of time such as 90s, 15m, 12h or 30d");
}

/** Parses the time that outcomes are kept into ms: a duration of at least 3 days, or `forever`, which gives 0. */
export const retention = withForm({ kind: "text", pattern: "^(forever|\\d{1,6}[smhd])$" }, (value) => {
  if (value === "forever") return 0;
  const ms = duration(value);
  if (ms === 0 || ms >= 3 * (UNITS.d ?? 0)) return ms;
  throw new InvalidValueError("is shorter than 3d; `forever` keeps all outcomes");
});

/** Parses a day in UTC such as 2030-01-31. */
export function day(value: string): string {
  const time = /^\d{4}-\d\d-\d\d$/.test(value) ? new Date(`${value}T00:00:00Z`) : undefined;
  // `Date` takes the 30th of February for the 2nd of March.
  if (time && !Number.isNaN(time.getTime()) && time.toISOString().startsWith(value)) return value;
  throw new InvalidValueError("is not a day such as 2030-01-31");
}

/** Extends a parser: `none` gives null. */
export function orNone<T>(parse: (value: string) => T): (value: string) => T | null {
  return (value) => (value === "none" ? null : parse(value));
}

const SCHEMA_NAME = /^(?!pg_)[a-z_][a-z0-9_]{0,46}$/;

/** Parses the name of a schema of PostgreSQL that needs no quotes. */
export const schemaName = withForm({ kind: "text", pattern: SCHEMA_NAME.source }, (value) => {
  if (SCHEMA_NAME.test(value)) return value;
  throw new InvalidValueError(
    "is not a name of lower-case letters, digits and _, with 47 at most and not pg_ in front",
  );
});

/** Parses a TCP port; 0 stands for any free port. */
export const port = wholeNumber(0, 65_535);

export function oneOf<const T extends string>(...choices: readonly T[]): Parser<T> {
  return withForm({ kind: "text", choices }, (value) => {
    const choice = choices.find((known) => known === value);
    if (choice !== undefined) return choice;
    throw new InvalidValueError(`is not one of ${choices.join(", ")}`);
  });
}

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export const logLevel = oneOf(...LOG_LEVELS);

export const policySource = oneOf("registry", "config", "both");

export function url(...protocols: readonly string[]): Parser<string> {
  const pattern = `^(${protocols.join("|")})//`;
  return withForm({ kind: "text", pattern }, (value) => {
    if (URL.canParse(value) && protocols.includes(new URL(value).protocol)) return value;
    throw new InvalidValueError(
      `is not a URL that begins with ${protocols.map((protocol) => `${protocol}//`).join(" or ")}`,
    );
  });
}

/** Parses several URLs, separated by commas. */
export function urls(...protocols: readonly string[]): Parser<string[]> {
  const parseUrl = url(...protocols);
  return withForm(listOf(parseUrl), (value) => {
    const entries = entriesOf(value);
    return entries.map((entry, i) => {
      try {
        return parseUrl(entry);
      } catch (error) {
        if (entries.length === 1 || !(error instanceof InvalidValueError)) throw error;
        throw new InvalidValueError(`at position ${i + 1} ${error.message}`);
      }
    });
  });
}

/** Parses a loopback address, which only programs on this machine can reach. */
export function loopbackHost(value: string): string {
  if (value === "localhost" || value === "::1") return value;
  if (isIPv4(value) && value.startsWith("127.")) return value;
  throw new InvalidValueError(
    "is not a loopback address: the keys of the development service are public, so it stays on this machine",
  );
}

/** Parses the address of an account or contract into 20 bytes. */
export const address = withForm({ kind: "text", pattern: "^0x[0-9a-fA-F]{40}$" }, (value) => {
  if (!/^0x[0-9a-fA-F]{40}$/.test(value))
    throw new InvalidValueError("is not an address: 0x and 40 hex digits are needed");
  try {
    return parseAddress(value);
  } catch (error) {
    throw new InvalidValueError(error instanceof InvalidAddressError ? error.message : String(error));
  }
});

/** Parses several addresses, separated by commas. */
export const addresses = withForm(listOf(address), (value) =>
  entriesOf(value).map((entry) => address(entry)),
);

/** Turns a parser of text into a parser of a file's path; it parses the file's content. */
export function fileOf<T>(parse: (content: string) => T): Parser<T> {
  return withForm({ kind: "path" }, (path) => parse(readText(path)));
}

/** Splits a list at commas and line ends, without empty entries. */
export function entriesOf(list: string): string[] {
  return list
    .split(/[,\r\n]/)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
}

/** Parses private keys: 32 bytes of hex each, with or without 0x. The errors never quote a key. */
export function privateKeys(list: string): Uint8Array[] {
  const entries = entriesOf(list);
  if (entries.length === 0) throw new InvalidValueError("holds no private key");
  return entries.map((entry, i) => {
    try {
      const key = hexToBytes(entry.startsWith("0x") ? entry : `0x${entry}`);
      // Throws for another length, for 0, and for a number that is not below the order of the curve.
      privateKeyToAddress(key);
      return key;
    } catch {
      throw new InvalidValueError(
        `holds no usable private key at position ${i + 1}: 32 bytes of hex are needed`,
      );
    }
  });
}

/** Parses the path of a file of private keys. It keeps the path, so that the file can be read again. */
export const keyFile = withForm({ kind: "path" }, (path) => ({
  path,
  keys: secretFileOf(privateKeys)(path),
}));
