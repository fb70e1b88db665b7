const LONGEST = 64;

/**
 * What an error says of a value that is not what it should be: a text in quotes, shortened, and of anything
 * else its kind. It never throws and stays short whatever the value, also for one nested a million deep.
 */
export function describe(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "string") {
    return value.length > LONGEST ? `${JSON.stringify(value.slice(0, LONGEST))}…` : JSON.stringify(value);
  }
  if (typeof value === "number" || typeof value === "boolean") return `the ${typeof value} ${value}`;
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
