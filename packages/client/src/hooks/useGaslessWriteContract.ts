import { useMutation } from "@tanstack/react-query";
import {
  type Config,
  type ResolvedRegister,
  type UseWriteContractParameters,
  type UseWriteContractReturnType,
  useConfig,
} from "wagmi";
import { gaslessWriteContract } from "./gaslessWriteContract.js";

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
