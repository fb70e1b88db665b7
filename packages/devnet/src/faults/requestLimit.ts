/**
 * Counts the requests of each address in windows of time, and refuses those above a limit.
 * @returns a function that counts a request at a time in ms, by any clock. It returns the seconds until the address may ask
 * again, or undefined if the request is within the limit.
 */
export function createRequestLimit(limit: number, windowMs: number) {
  const windows = new Map<string, { readonly end: number; count: number }>();
  return (address: string, now: number): number | undefined => {
    let window = windows.get(address);
    if (window === undefined || window.end <= now) {
      window = { end: now + windowMs, count: 0 };
      windows.set(address, window);
    }
    window.count++;
    return window.count <= limit ? undefined : Math.ceil((window.end - now) / 1_000);
  };
}
