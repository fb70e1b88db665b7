import { weaknessOfKey } from "@gas-waiver/server";
import { listOf, withForm } from "./form.js";
import { entriesOf, text } from "./parsers.js";
import { InvalidValueError } from "./setting.js";

/**
 * Parses API keys, as they stand in the Authorization header. The errors never quote a key. It has a file of its own
 * because it imports the service, which is slow to load.
 */
export const apiKeys = withForm(listOf(text), (list) => {
  const entries = entriesOf(list);
  if (entries.length === 0) throw new InvalidValueError("holds no API key");
  for (const [i, entry] of entries.entries()) {
    const weakness = weaknessOfKey(entry);
    if (weakness === undefined) continue;
    const remedy = "make one with `openssl rand -hex 32`, or with `gas-waiver keys create`";
    throw new InvalidValueError(`holds a weak API key at position ${i + 1}, which ${weakness}: ${remedy}`);
  }
  return entries;
});
