import { useMutation } from "@tanstack/react-query";
import {
  type Abi,
  type ContractFunctionArgs,
  type ContractFunctionName,
  createClient,
  custom,
  type Hash,
} from "viem";
import { type WriteContractParameters as ViemParameters, writeContract } from "viem/actions";
import {
  type Config,
  type Connector,
  type ResolvedRegister,
  type UseWriteContractParameters,
  type UseWriteContractReturnType,
  useConfig,
} from "wagmi";
import { getConnection, getConnectorClient, type WriteContractParameters } from "wagmi/actions";
import type { Eip1193Provider } from "../provider/eip1193.js";
import { gaslessProvider } from "../provider/gaslessProvider.js";
import { type GaslessChain, pickGaslessChain } from "./gaslessChain.js";

type Changing = "nonpayable" | "payable";

/**
 * Calls a contract's function through the connected wallet, without gas: wagmi's `writeContract` over a
 * {@link gaslessProvider}. The wallet adds the gateway as its network if it is on another one. Fees among the parameters
 * are ignored.
 * @returns the transaction's hash, when a node of the chain has it.
 * @throws WalletNetworkError if the wallet would take a price; viem's and wagmi's own errors.
 * @example
 * ```ts
 * import { gaslessWriteContract } from "@gas-waiver/client/wagmi";
 * import { parseAbi } from "viem";
 *
 * const hash = await gaslessWriteContract(wagmiConfig, {
 *   address: tokenAddress,
 *   abi: parseAbi(["function transfer(address to, uint256 amount) returns (bool)"]),
 *   functionName: "transfer",
 *   args: [recipient, 5n],
 * });
 * ```
 */
export async function gaslessWriteContract<
  config extends Config,
  const abi extends Abi | readonly unknown[],
  functionName extends ContractFunctionName<abi, Changing>,
  args extends ContractFunctionArgs<abi, Changing, functionName>,
>(config: config, parameters: WriteContractParameters<abi, functionName, args, config>): Promise<Hash> {
  const { account, chainId, connector, ...call } = parameters as Partial<ViemParameters> & OfWagmi;
  // The wallet may be on another chain: the provider adds the network.
  const chosen = { ...(account && { account }), ...(connector && { connector }), assertChainId: false };
  const connected = await getConnectorClient(config, chosen);
  const current = getConnection(config);
  const chain = pickGaslessChain(config.chains, chainId, current.chainId);
  const wallet = (await (connector ?? current.connector)?.getProvider()) as Eip1193Provider;
  const client = createClient({
    account: connected.account,
    transport: custom(gaslessWallet(wallet, chain), { retryCount: 0 }),
  });
  // Without a chain, viem leaves it to the provider to add the network and to compare.
  return await writeContract(client, { ...call, chain: null } as ViemParameters);
}

/** The parameters that wagmi adds to those of viem. */
interface OfWagmi {
  readonly chainId?: number;
  readonly connector?: Connector;
}

const gaslessWallets = new WeakMap<Eip1193Provider, Map<string, Eip1193Provider>>();

/** Returns the one gasless provider in front of a wallet: it listens to the wallet, and knows what it has asked. */
function gaslessWallet(
  wallet: Eip1193Provider,
  { id, name, nativeCurrency, custom: { gasWaiver } }: GaslessChain,
): Eip1193Provider {
  const byService = gaslessWallets.get(wallet) ?? new Map<string, Eip1193Provider>();
  gaslessWallets.set(wallet, byService);
  const key = `${id} ${gasWaiver.url} ${gasWaiver.apiKey}`;
  const provider =
    byService.get(key) ??
    gaslessProvider(wallet, { ...gasWaiver, chainId: id, chainName: name, nativeCurrency });
  byService.set(key, provider);
  return provider;
}

/**
 * Calls a contract's function through the connected wallet, without gas. It is used like wagmi's `useWriteContract`; the
 * wallet adds the gateway as its network with the first call.
 * @returns the mutation; its data is the transaction's hash.
 * @example
 * ```ts
 * import { useGaslessWriteContract, useSubmission } from "@gas-waiver/client/wagmi";
 *
 * function useSend() {
 *   const { mutate: send, data: hash, error } = useGaslessWriteContract();
 *   const { data: submission } = useSubmission({ hash });
 *   return { send, error, state: submission?.state };
 * }
 * ```
 */
export function useGaslessWriteContract<
  config extends Config = ResolvedRegister["config"],
  context = unknown,
>(parameters: UseWriteContractParameters<config, context> = {}): UseWriteContractReturnType<config, context> {
  const config = useConfig(parameters);
  const mutation = useMutation({
    ...(parameters.mutation as object),
    mutationKey: ["gasWaiver", "writeContract"],
    mutationFn: (variables) => gaslessWriteContract(config, variables as never),
  });
  const { mutate, mutateAsync } = mutation;
  return {
    ...mutation,
    writeContract: mutate,
    writeContractAsync: mutateAsync,
  } as unknown as UseWriteContractReturnType<config, context>;
}
