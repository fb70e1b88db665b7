import { InvalidArgumentError } from "../errors.js";

/** Prices are upper bounds, and price 0 keeps to each. */
const PRICES = ["gasPrice", "maxFeePerGas", "maxPriorityFeePerGas"];
/** The ways in which libraries write the type of the transactions that are signed here. */
const LEGACY: ReadonlySet<unknown> = new Set([0, "0x0", "legacy"]);

/**
 * Refuses a parameter that would be dropped, one of a library's newer version included.
 * @param honoured the names of the parameters that the call reads, beside prices and the type.
 * @throws InvalidArgumentError that names the parameter.
 */
export function assertHonoured(parameters: object, honoured: readonly string[]): void {
  for (const [name, value] of Object.entries(parameters)) {
    const isEmpty = value === undefined || value === null || (Array.isArray(value) && value.length === 0);
    const isLegacy = name === "type" && LEGACY.has(value);
    if (isEmpty || isLegacy || PRICES.includes(name) || honoured.includes(name)) continue;
    const shown = name === "type" ? `type ${value}` : `\`${name}\``;
    throw new InvalidArgumentError(
      `${shown} has no effect here: a gasless transaction is a legacy one at price 0; leave it out`,
    );
  }
}
