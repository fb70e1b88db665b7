import { maxDataLengthFor } from "@gas-waiver/protocol";
import { InvalidOptionsError } from "../errors.js";
import { DEFAULTS } from "./defaults.js";
import { identityProblems, numberProblems } from "./optionProblems.js";
import type { ResolvedOptions, ServerOptions } from "./options.js";

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
