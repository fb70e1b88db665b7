import { maxDataLengthFor } from "@gas-waiver/protocol";
import { InvalidOptionsError } from "../errors.js";
import { identityProblems, numberProblems } from "./optionProblems.js";
import { DEFAULTS, type ResolvedOptions, type ServerOptions } from "./options.js";
import { OPTIONS, type Options } from "./optionTable.js";

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

/** The defaults that follow from another option. */
function derived({ maxWrapperBytes }: Partial<ServerOptions>): Partial<ServerOptions> {
  return maxWrapperBytes === undefined ? {} : { maxDataLength: maxDataLengthFor(maxWrapperBytes) };
}

/**
 * Fills in the defaults, and checks all options.
 * @throws {@link InvalidOptionsError} with every problem. Secrets are never part of a message.
 */
export function resolveOptions(options: ServerOptions): ResolvedOptions {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const defaults: Partial<ServerOptions> = DEFAULTS;
  const { rpcUrl, ...others } = { ...defaults, ...derived(given), ...given } as ServerOptions;
  const rpcUrls = typeof rpcUrl === "string" ? [rpcUrl] : rpcUrl;
  const policySource = others.policySource ?? (others.allowedTargets ? "config" : "registry");
  const resolved = { ...others, rpcUrls, policySource } as ResolvedOptions;
  const problems = [...identityProblems(resolved), ...numberProblems(resolved)];
  if (problems.length > 0) throw new InvalidOptionsError(problems);
  return resolved;
}
