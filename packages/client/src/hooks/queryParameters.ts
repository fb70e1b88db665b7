import type { UseQueryOptions } from "@tanstack/react-query";
import { type Config, useChainId, useConfig } from "wagmi";
import { pickGaslessChain } from "./gaslessChain.js";

/** The parameters that all hooks of a query have. */
export interface QueryParameters<data> {
  /** The wagmi config, instead of that of the nearest `WagmiProvider`. */
  readonly config?: Config;
  /** Options of TanStack's `useQuery`, such as `enabled`. */
  readonly query?: Omit<UseQueryOptions<data>, "queryKey" | "queryFn">;
}

/** Returns the wagmi config, and the gasless chain that a hook is about. */
export function useGaslessConfig(parameters: {
  readonly config?: Config;
  readonly chainId?: number | undefined;
}) {
  const config = useConfig(parameters);
  const current = useChainId({ config });
  return { config, chainId: pickGaslessChain(config.chains, parameters.chainId, current).id };
}

/** Adds the caller's options to a query's own. Disabled by either, it is disabled. */
export function withQuery<data>(
  options: { readonly queryKey: readonly unknown[]; readonly enabled: boolean },
  query: QueryParameters<data>["query"] = {},
): UseQueryOptions<data> {
  const { enabled = true } = query;
  return { ...query, ...options, enabled: options.enabled && enabled } as UseQueryOptions<data>;
}
