import { isKeyOrigin, isOrigin } from "@gas-waiver/server";
import { listOf, withForm } from "./form.js";
import { entriesOf, text } from "./parsers.js";
import { InvalidValueError } from "./setting.js";

// A file of its own because it imports the service, which is slow to load.

/** Parses web origins, separated by commas, `loopback`, or `*`. */
export const origins = withForm(listOf(text), (value) => originsIn(value, isOrigin, "loopback or *"));

/** Parses the origins of a publishable key, which may contain `wallets` as well. */
export function keyOrigins(value: string): string[] {
  return originsIn(value, isKeyOrigin, "loopback, wallets or *");
}

function originsIn(value: string, isGood: (entry: string) => boolean, words: string): string[] {
  const entries = entriesOf(value);
  if (entries.length > 0 && entries.every(isGood)) return entries;
  throw new InvalidValueError(
    `is not a list of origins such as https://app.example.com (no path, no slash at the end), ${words}`,
  );
}
