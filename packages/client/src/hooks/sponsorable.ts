import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import {
  type Abi,
  type Address,
  type ContractFunctionParameters,
  type EncodeFunctionDataParameters,
  encodeFunctionData,
  type Hex,
  numberToHex,
} from "viem";
import { type Config, useConnection } from "wagmi";
import { getClient } from "wagmi/actions";
import { pickGaslessChain } from "./gaslessChain.js";
import { type QueryParameters, useGaslessConfig, withQuery } from "./queryParameters.js";

/** A call as calldata, or by the contract's function. */
export type SponsorableCall = { readonly value?: bigint; readonly gas?: bigint } & (
  | { readonly to: Address; readonly data?: Hex }
  | ContractFunctionParameters<Abi, "nonpayable" | "payable">
);

/** The answer of the service about a call, before anybody signs it. */
export interface Sponsorship {
  /** Whether the service would waive the gas now. */
  readonly sponsorable: boolean;
  /** The name of the rule that refuses, with `sponsorable: false`. */
  readonly reason?: string;
  /** The same in a sentence. */
  readonly message?: string;
}

/** The options of {@link sponsorableQueryOptions}. */
export interface SponsorableOptions {
  /** The call; nothing is asked while it is undefined. */
  readonly call: SponsorableCall | undefined;
  /** The sender. */
  readonly account?: Address | undefined;
  /** A {@link gaslessChain} of the config; the first one by default. */
  readonly chainId?: number | undefined;
}

/** The call as the gateway reads it. */
interface RpcCall {
  readonly from?: Address;
  readonly to: Address;
  readonly data: Hex;
  readonly value: Hex;
  readonly gas?: Hex;
}

/**
 * Makes the options of a TanStack query that asks the service whether it would waive the gas of a call
 * (`pm_isSponsorable`), for `useQuery` or a `QueryClient`.
 * @throws InvalidArgumentError if the config has no chain made by `gaslessChain`.
 * @example
 * ```ts
 * import { sponsorableQueryOptions } from "@gas-waiver/client/wagmi";
 *
 * const call = { to: tokenAddress, data: calldata };
 * const { sponsorable } = await queryClient.fetchQuery(sponsorableQueryOptions(wagmiConfig, { call }));
 * ```
 */
export function sponsorableQueryOptions(config: Config, { call, account, chainId }: SponsorableOptions) {
  const { id } = pickGaslessChain(config.chains, chainId);
  const request = call && rpcCall(call, account);
  return {
    queryKey: ["gasWaiver", "sponsorable", { chainId: id, request }] as const,
    enabled: request !== undefined,
    queryFn: async (): Promise<Sponsorship> => {
      const answer: unknown = await getClient(config, { chainId: id })?.request({
        method: "pm_isSponsorable",
        params: [request],
      } as never);
      const { sponsorable, reason, message } = Object(answer) as Sponsorship;
      return {
        sponsorable: sponsorable === true,
        ...(typeof reason === "string" && { reason }),
        ...(typeof message === "string" && { message }),
      };
    },
  };
}

function rpcCall(call: SponsorableCall, account: Address | undefined): RpcCall {
  const { value = 0n, gas } = call;
  return {
    ...(account && { from: account }),
    ...("to" in call
      ? { to: call.to, data: call.data ?? "0x" }
      : { to: call.address, data: encodeFunctionData(call as unknown as EncodeFunctionDataParameters) }),
    value: numberToHex(value),
    ...(gas !== undefined && { gas: numberToHex(gas) }),
  };
}

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
