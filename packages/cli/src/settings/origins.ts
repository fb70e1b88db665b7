import { isKeyOrigin, isOrigin } from "@gas-waiver/server";
import { entriesOf } from "./parsers.js";
import { InvalidValueError } from "./setting.js";

// A file of its own because it imports the service, which is slow to load.

/** Parses web origins, separated by commas, `loopback`, or `*`. */
export function origins(value: string): string[] {
  return listOf(value, isOrigin, "loopback or *");
}

/** Parses the origins of a publishable key, which may contain `wallets` as well. */
export function keyOrigins(value: string): string[] {
  return listOf(value, isKeyOrigin, "loopback, wallets or *");
}

function listOf(value: string, isGood: (entry: string) => boolean, words: string): string[] {
  const entries = entriesOf(value);
  if (entries.length > 0 && entries.every(isGood)) return entries;
  throw new InvalidValueError(
    `is not a list of origins such as https://app.example.com (no path, no slash at the end), ${words}`,
  );
}
