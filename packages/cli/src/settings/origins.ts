import { isOrigin } from "@gas-waiver/server";
import { entriesOf } from "./parsers.js";
import { InvalidValueError } from "./setting.js";

/**
 * Parses web origins, separated by commas, `loopback`, or `*`. It has a file of its own because it imports the service,
 * which is slow to load.
 */
export function origins(value: string): string[] {
  const entries = entriesOf(value);
  const bad = entries.find((entry) => !isOrigin(entry));
  if (bad === undefined && entries.length > 0) return entries;
  throw new InvalidValueError(
    "is not a list of origins such as https://app.example.com (no path, no slash at the end), loopback or *",
  );
}
