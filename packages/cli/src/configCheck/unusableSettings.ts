import type { Source } from "../settings/source.js";

/** Values of which those that are wrong are absent. */
export type Partly<T> = { readonly [K in keyof T]?: T[K] | undefined };

/** Settings as far as they could be read. */
interface Reading {
  readonly values: object;
  readonly sources: ReadonlyMap<string, Source>;
}

/** Finds those of the settings that are given and cannot be used. */
export function unusableSettings({ values, sources }: Reading, keys: readonly string[]): string[] {
  return keys.filter((key) => sources.has(key) && (values as Record<string, unknown>)[key] === undefined);
}
