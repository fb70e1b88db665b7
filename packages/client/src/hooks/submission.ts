import { parseSubmissionRecord, type SubmissionRecord } from "@gas-waiver/protocol/wire";
import type { Hash } from "viem";
import type { Config } from "wagmi";
import { readRecord } from "../actions/readRecord.js";
import { isTemporary } from "../http/retry.js";
import { connectionTo, pickGaslessChain } from "./gaslessChain.js";

export type { SubmissionRecord } from "@gas-waiver/protocol/wire";

/** The options of {@link submissionQueryOptions}. */
export interface SubmissionOptions {
  /** The transaction's hash; nothing is read while it is undefined. */
  readonly hash: Hash | undefined;
  /** A {@link gaslessChain} of the config; the first one by default. */
  readonly chainId?: number | undefined;
  /** The pause between two reads of the record, in milliseconds; 500 by default. */
  readonly pollMs?: number;
}

/**
 * Makes the options of a TanStack query that follows a submission until its end, for `useQuery` or a `QueryObserver`.
 * Its data is the service's record: the state goes from `queued` over `signed` and `broadcast` to `included` or `failed`.
 * @throws InvalidArgumentError if the config has no chain made by `gaslessChain`.
 * @example
 * ```ts
 * import { submissionQueryOptions } from "@gas-waiver/client/wagmi";
 * import { QueryObserver } from "@tanstack/react-query";
 *
 * const observer = new QueryObserver(queryClient, submissionQueryOptions(wagmiConfig, { hash: transactionHash }));
 * const stop = observer.subscribe(({ data }) => console.log(data?.state));
 * ```
 */
export function submissionQueryOptions(config: Config, { hash, chainId, pollMs = 500 }: SubmissionOptions) {
  const chain = pickGaslessChain(config.chains, chainId);
  return {
    queryKey: ["gasWaiver", "submission", { chainId: chain.id, hash }] as const,
    enabled: hash !== undefined,
    queryFn: ({ signal }: { readonly signal: AbortSignal }): Promise<SubmissionRecord> =>
      readRecord(connectionTo(chain), hash ?? "", parseSubmissionRecord, { signal }),
    // `readRecord` asks a service again that is away; what the service refuses, it refuses again.
    retry: false,
    refetchInterval: ({ state }: { readonly state: FollowedState }) => (hasEnded(state) ? false : pollMs),
  } as const;
}

interface FollowedState {
  readonly data: SubmissionRecord | undefined;
  readonly error: unknown;
}

/** Tells whether there is nothing more to read: the submission has ended, or the key may not read it. */
function hasEnded({ data, error }: FollowedState): boolean {
  const isRefused = error !== null && !isTemporary(error);
  return isRefused || data?.state === "included" || data?.state === "failed";
}
