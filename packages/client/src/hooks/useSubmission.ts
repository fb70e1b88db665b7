import type { SubmissionRecord } from "@gas-waiver/protocol/wire";
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { type QueryParameters, useGaslessConfig, withQuery } from "./queryParameters.js";
import { type SubmissionOptions, submissionQueryOptions } from "./submission.js";

/** The parameters of {@link useSubmission}. */
export type UseSubmissionParameters = SubmissionOptions & QueryParameters<SubmissionRecord>;

/**
 * Follows a submission until it is in a block or has failed, and renders each of its states.
 * @returns the query; its data is the service's record: `state`, `blockNumber`, and `error` if it failed.
 * @example
 * ```ts
 * import { useSubmission } from "@gas-waiver/client/wagmi";
 *
 * function useStateOf(hash: `0x${string}` | undefined) {
 *   const { data } = useSubmission({ hash });
 *   return data?.state === "failed" ? data.error?.message : data?.state;
 * }
 * ```
 */
export function useSubmission(parameters: UseSubmissionParameters): UseQueryResult<SubmissionRecord> {
  const { hash, pollMs, socket, query } = parameters;
  const { config, chainId } = useGaslessConfig(parameters);
  const options = useMemo(
    () => submissionQueryOptions(config, { hash, chainId, socket, ...(pollMs && { pollMs }) }),
    [config, hash, chainId, socket, pollMs],
  );
  return useQuery<SubmissionRecord>(withQuery(options, query));
}
