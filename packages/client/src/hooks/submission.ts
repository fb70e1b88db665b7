import { parseSubmissionRecord, type SubmissionRecord } from "@gas-waiver/protocol/wire";
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Hash } from "viem";
import type { Config } from "wagmi";
import { readRecord } from "../actions/status.js";
import { pause } from "../http/pause.js";
import { isTemporary } from "../http/retry.js";
import type { SocketClient } from "../socket/connect.js";
import { connectionTo, pickGaslessChain } from "./gaslessChain.js";
import { type QueryParameters, useGaslessConfig, withQuery } from "./queryParameters.js";

export type { SubmissionRecord } from "@gas-waiver/protocol/wire";

/** The options of {@link submissionQueryOptions}. */
export interface SubmissionOptions {
  /** The transaction's hash; nothing is read while it is undefined. */
  readonly hash: Hash | undefined;
  /** A {@link gaslessChain} of the config; the first one by default. */
  readonly chainId?: number | undefined;
  /** The pause between two reads of the record, in milliseconds; 500 by default. */
  readonly pollMs?: number;
  /**
   * A WebSocket to the service of the chain, made by `connect` with the chain's key. With it, the record is read as soon as its
   * state changes, and otherwise every 3 seconds, as while the WebSocket is away.
   */
  readonly socket?: Pick<SocketClient, "watch"> | undefined;
}

/** The longest time between two reads of a submission that a WebSocket watches, in ms. */
const MAX_WATCH_MS = 3_000;

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
export function submissionQueryOptions(
  config: Config,
  { hash, chainId, pollMs = 500, socket }: SubmissionOptions,
) {
  const chain = pickGaslessChain(config.chains, chainId);
  /** The state of the last read by these options: there is nothing to wait for before the first one. */
  let known: SubmissionRecord["state"] | undefined;
  const nextStage = socket && hash && watchStages(socket, hash);
  return {
    queryKey: ["gasWaiver", "submission", { chainId: chain.id, hash }] as const,
    enabled: hash !== undefined,
    queryFn: async ({ signal }: { readonly signal: AbortSignal }): Promise<SubmissionRecord> => {
      if (known !== undefined) await nextStage?.(known, signal);
      const record = await readRecord(connectionTo(chain), hash ?? "", parseSubmissionRecord, { signal });
      known = record.state;
      return record;
    },
    // `readRecord` asks a service again that is away; what the service refuses, it refuses again.
    retry: false,
    refetchInterval: ({ state }: { readonly state: FollowedState }) => (hasEnded(state) ? false : pollMs),
  } as const;
}

/**
 * Watches a submission over a WebSocket.
 * @returns a function that waits until the submission has left the known state, or for a while. It throws the reason of an
 * aborted signal, and nothing for a WebSocket that cannot be used.
 */
function watchStages(socket: Pick<SocketClient, "watch">, hash: Hash) {
  let line: Promise<void> | undefined;
  return async (known: SubmissionRecord["state"], signal: AbortSignal): Promise<void> => {
    const wait = known === "broadcast" ? "included" : "broadcast";
    // A line that has not come in time is awaited again, so that one frame is open at most.
    line ??= firstLine(socket.watch([hash], { wait, signal })).finally(() => {
      line = undefined;
    });
    const rest = pause(MAX_WATCH_MS, signal);
    await Promise.race([line.catch(() => rest), rest]);
  };
}

async function firstLine(lines: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of lines) return;
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
