import type { ResolvedOptions, ServerOptions } from "./options.js";
import { OPTIONS, type Options } from "./optionTable.js";
import { resolveOptions } from "./resolveOptions.js";

/** The options that can change while a service runs. Its parts read them in {@link ResolvedOptions} at each use. */
export const RELOADABLE_OPTIONS = (Object.keys(OPTIONS) as (keyof Options)[]).filter(
  (name): name is ReloadableOption => "reload" in OPTIONS[name],
);

type ReloadableOption = {
  [K in keyof Options]: Options[K] extends { readonly reload: string } ? K : never;
}[keyof Options];

/** New values of the options that can change while a service runs. One that is absent gets its default. */
export type ReloadableOptions = Pick<ServerOptions, ReloadableOption>;

/**
 * Returns the options with other values of those that can change.
 * @throws {@link InvalidOptionsError} with every problem.
 */
export function withReloaded(options: ResolvedOptions, changed: ReloadableOptions): ResolvedOptions {
  return { ...options, ...reloadableIn(resolveAgain({ ...options, ...reloadableIn(changed) })) };
}

/** Puts the values of another set of options that can change into options that parts of a running service hold. */
export function reload(options: ResolvedOptions, resolved: ResolvedOptions): void {
  Object.assign(options, reloadableIn(resolved));
}

/**
 * Checks options of a running service with changes. Its certificate is left out: the one of the start may have been replaced
 * and have expired.
 * @throws {@link InvalidOptionsError} with every problem.
 */
export function resolveAgain({
  rpcUrls,
  tls: _,
  ...options
}: Partial<ServerOptions> & Pick<ResolvedOptions, "rpcUrls">): ResolvedOptions {
  return resolveOptions({ ...options, rpcUrl: rpcUrls } as ServerOptions);
}

/** The values of all options that can change, undefined where there is none. */
function reloadableIn(options: ReloadableOptions): ReloadableOptions {
  return Object.fromEntries(RELOADABLE_OPTIONS.map((name) => [name, options[name]])) as ReloadableOptions;
}
