import type { ValueOf } from "./option.js";
import { OPTIONS, type Options, type PolicySourceKind } from "./optionTable.js";

type Required = {
  [K in keyof Options]: Options[K] extends { readonly required: true } ? K : never;
}[keyof Options];

/** The options of the service: the rows of {@link Options}, where each has its sentence. A name that ends in `Ms` is in milliseconds. */
export type ServerOptions = Given<Options, Required> &
  Partial<Given<Options, Exclude<keyof Options, Required>>>;

// Keeps the comments on the rows, for an editor that hovers an option.
type Given<O, Name extends keyof O> = { readonly [N in Name]: ValueOf<O[N]> };

/** The options with all defaults filled in. Those of `RELOADABLE_OPTIONS` may change while a service runs, and are read at each use. */
export type ResolvedOptions = Omit<ServerOptions, Defaulted | "rpcUrl" | "policySource"> &
  typeof DEFAULTS & { readonly rpcUrls: readonly string[]; readonly policySource: PolicySourceKind };

/** The names of the options that have a default. */
export type Defaulted = {
  [K in keyof Options]: Options[K] extends { readonly default: unknown } ? K : never;
}[keyof Options];

/** The default of each option of the service that has one (D3, D5, D20, D22). */
export const DEFAULTS = Object.fromEntries(
  Object.entries(OPTIONS).flatMap(([name, row]) => ("default" in row ? [[name, row.default]] : [])),
) as { readonly [K in Defaulted]: ValueOf<Options[K]> };
