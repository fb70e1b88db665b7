const MAX_CHARACTERS = 64;

/**
 * Describes a value for an error message: a text in quotes and shortened, a number or boolean as it is, anything
 * else by its kind. It never throws and stays short whatever the value, also for one nested a million deep.
 * @example
 * ```ts
 * throw new TypeError(`the nonce is ${describeValue(input)}, not a number`);
 * ```
 */
export function describeValue(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "string") {
    return value.length > MAX_CHARACTERS
      ? `${JSON.stringify(value.slice(0, MAX_CHARACTERS))}…`
      : JSON.stringify(value);
  }
  if (typeof value === "number" || typeof value === "boolean") return `the ${typeof value} ${value}`;
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
