import {
  ConnectionFailedError,
  MalformedAnswerError,
  RequestRefusedError,
  StreamEndedError,
} from "../errors.js";
import { pause } from "./pause.js";

/** Attempts and pauses for a request that is safe to send again. */
export interface RetryOptions {
  /** The number of attempts in a row without success, the first included. */
  readonly attempts: number;
  /** The pause before the second attempt, in milliseconds; it doubles with each further one. 250 by default. */
  readonly minDelayMs?: number;
  /** The longest pause, in milliseconds; a service that asks for a longer one gets it. 5,000 by default. */
  readonly maxDelayMs?: number;
}

/** The HTTP statuses of a proxy or of the service while the service is away or too busy. */
const TEMPORARY_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Tells whether the same request may succeed in a moment. */
export function isTemporary(error: unknown): boolean {
  if (error instanceof ConnectionFailedError || error instanceof StreamEndedError) return true;
  const answered = error instanceof RequestRefusedError || error instanceof MalformedAnswerError;
  return answered && TEMPORARY_STATUSES.has(error.status);
}

/**
 * Pauses before the next attempt, or throws the error if there is to be none.
 * @param failed the number of attempts that have failed in a row.
 */
export async function pauseBeforeRetry(
  error: unknown,
  failed: number,
  options: RetryOptions,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (failed >= options.attempts || !isTemporary(error)) throw error;
  await pause(delayBeforeRetry(error, failed, options), signal);
}

/** Returns the pause after so many attempts, in ms: what the service asks for, or a doubling one. */
export function delayBeforeRetry(
  error: unknown,
  failed: number,
  { minDelayMs = 250, maxDelayMs = 5_000 }: RetryOptions,
): number {
  const retryAfterMs = error instanceof RequestRefusedError ? (error.retryAfterMs ?? 0) : 0;
  return Math.max(retryAfterMs, Math.min(maxDelayMs, minDelayMs * 2 ** (failed - 1)));
}

/** Repeats a read that fails for a passing reason. Reads change nothing, however often they are sent. */
export async function withRetries<T>(
  read: () => Promise<T>,
  options: RetryOptions,
  signal: AbortSignal | undefined,
): Promise<T> {
  for (let failed = 1; ; failed++) {
    try {
      return await read();
    } catch (error) {
      await pauseBeforeRetry(error, failed, options, signal);
    }
  }
}
