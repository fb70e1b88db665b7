import { parseAddressBlock } from "@gas-waiver/server";
import { listOf, withForm } from "./form.js";
import { entriesOf, text } from "./parsers.js";
import { InvalidValueError } from "./setting.js";

/**
 * Parses addresses and CIDR blocks, separated by commas. It has a file of its own because it imports the service, which is
 * slow to load.
 */
export const addressBlocks = withForm(listOf(text), (value) => {
  const entries = entriesOf(value);
  const isGood = entries.length > 0 && entries.every((entry) => parseAddressBlock(entry) !== undefined);
  if (isGood) return entries;
  throw new InvalidValueError("is not a list of addresses and blocks such as 10.0.0.0/8 or fd00::/8");
});
