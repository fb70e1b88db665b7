import type { PreflightOptions } from "@gas-waiver/server";
import { DEFAULTS } from "@gas-waiver/server";
import { resolveServeConfig } from "../serve/serveConfig.js";
import type { NetworkValues } from "../serve/serveSettings.js";
import type { ConfigFile } from "../settings/configFile.js";
import { UsageError } from "../settings/readSettings.js";
import { waiverAddresses } from "../waivers/custodies.js";
import type { Partly } from "./unusableSettings.js";

/** The settings of a network that concern its nodes. */
type NodeValues = Partly<
  Pick<NetworkValues, "chainId" | "reorgDepth" | "policySource" | "allowedTargets" | "maxWrapperBytes">
> &
  Pick<NetworkValues, "rpcUrl">;

/** Returns the options of the check that a service with these settings makes. */
export function nodeCheckOf(
  { rpcUrl, chainId, reorgDepth, policySource, allowedTargets, maxWrapperBytes }: NodeValues,
  waivers: readonly Uint8Array[],
): Omit<PreflightOptions, "signal"> {
  return {
    rpcUrls: rpcUrl,
    chainId,
    reorgDepth: reorgDepth ?? DEFAULTS.reorgDepth,
    waivers,
    readsRegistry: (policySource ?? (allowedTargets ? "config" : "registry")) !== "config",
    maxWrapperBytes: maxWrapperBytes ?? DEFAULTS.maxWrapperBytes,
    rpcTimeoutMs: DEFAULTS.rpcTimeoutMs,
  };
}

/**
 * Reads the nodes of each network of a configuration file.
 * @throws {@link UsageError} with the file's problems if one of its networks names no nodes that can be used.
 */
export function nodesOfNetworks({ path }: ConfigFile) {
  const { config, problems } = resolveServeConfig(["--config", path], {});
  return config.networks.map(({ place, values, custody }) => {
    const { name } = place ?? {};
    if ((values as Partly<NetworkValues>).rpcUrl === undefined || name === undefined)
      throw new UsageError(problems);
    return { name, options: nodeCheckOf(values, waiverAddresses(custody)) };
  });
}
