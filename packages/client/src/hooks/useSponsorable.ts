import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { useConnection } from "wagmi";
import { type QueryParameters, useGaslessConfig, withQuery } from "./queryParameters.js";
import { type SponsorableOptions, type Sponsorship, sponsorableQueryOptions } from "./sponsorable.js";

/** The parameters of {@link useSponsorable}. */
export type UseSponsorableParameters = SponsorableOptions & QueryParameters<Sponsorship>;

/**
 * Tells whether the service would waive the gas of a call, before the user is asked to sign it. The sender is the
 * connected account by default.
 * @returns the query; its data is a {@link Sponsorship}, with the refusing rule.
 * @example
 * ```ts
 * import { useSponsorable } from "@gas-waiver/client/wagmi";
 *
 * function useIsFree() {
 *   const { data } = useSponsorable({ call: { to: tokenAddress, data: calldata } });
 *   return data?.sponsorable ?? false;
 * }
 * ```
 */
export function useSponsorable(parameters: UseSponsorableParameters): UseQueryResult<Sponsorship> {
  const { call, account, query } = parameters;
  const { config, chainId } = useGaslessConfig(parameters);
  const { address } = useConnection({ config });
  return useQuery<Sponsorship>(
    withQuery(sponsorableQueryOptions(config, { call, chainId, account: account ?? address }), query),
  );
}
