import type { ValueOf } from "./option.js";
import { OPTIONS, type Options } from "./optionTable.js";

/** The names of the options that have a default. */
export type Defaulted = {
  [K in keyof Options]: Options[K] extends { readonly default: unknown } ? K : never;
}[keyof Options];

/** The default of each option of the service that has one (D3, D5, D20, D22). */
export const DEFAULTS = Object.fromEntries(
  Object.entries(OPTIONS).flatMap(([name, row]) => ("default" in row ? [[name, row.default]] : [])),
) as { readonly [K in Defaulted]: ValueOf<Options[K]> };
