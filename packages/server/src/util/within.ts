/** The work did not finish within its time limit. */
export class TimedOutError extends Error {
  override readonly name = "TimedOutError";
}

/**
 * Waits at most `ms` for a promise. The work behind the promise goes on after that, and its outcome is dropped.
 * @throws {@link TimedOutError} when the time is up.
 */
export async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimedOutError(`no answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
