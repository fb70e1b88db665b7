/** The longest time of a timer. Node ends a longer one at once, and a service may ask for any pause. */
const MAX_MS = 2 ** 31 - 1;

/** Resolves after `ms` milliseconds, or rejects with the signal's reason as soon as it is aborted. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const aborted = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(
      () => {
        signal?.removeEventListener("abort", aborted);
        resolve();
      },
      Math.min(ms, MAX_MS),
    );
    signal?.addEventListener("abort", aborted, { once: true });
  });
}
