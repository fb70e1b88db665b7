import {
  ConnectionFailedError,
  MalformedAnswerError,
  RequestRefusedError,
  StreamEndedError,
} from "../errors.js";
import { pause } from "./pause.js";

/** How often something is tried that is safe to try again. */
export interface RetryOptions {
  /** How many times in all, in a row without success. */
  readonly attempts: number;
  /** The pause before the second attempt, in milliseconds; it doubles with each further one. 250 by default. */
  readonly minDelayMs?: number;
  /** The longest pause, in milliseconds; a service that asks for a longer one gets it. 5,000 by default. */
  readonly maxDelayMs?: number;
}

/** What a proxy or the service answers while the service is away, or has too much to do. */
const TEMPORARY_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** May the same request fare better in a moment? */
function isTemporary(error: unknown): boolean {
  if (error instanceof ConnectionFailedError || error instanceof StreamEndedError) return true;
  const answered = error instanceof RequestRefusedError || error instanceof MalformedAnswerError;
  return answered && TEMPORARY_STATUSES.has(error.status);
}

/**
 * Waits before the next attempt, or throws the error if there is to be none.
 * @param failed how many attempts have failed in a row.
 */
export async function pauseBeforeRetry(
  error: unknown,
  failed: number,
  { attempts, minDelayMs = 250, maxDelayMs = 5_000 }: RetryOptions,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (failed >= attempts || !isTemporary(error)) throw error;
  const asked = error instanceof RequestRefusedError ? (error.retryAfterMs ?? 0) : 0;
  await pause(Math.max(asked, Math.min(maxDelayMs, minDelayMs * 2 ** (failed - 1))), signal);
}

/** For reads, which change nothing however often they are sent. */
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
