/**
 * The items until the signal is aborted: then whoever makes them is told to stop, and the rest does not come. Nothing
 * that was begun is cancelled by it (D19).
 */
export async function* takeUntilAborted<T>(items: AsyncIterable<T>, ended: AbortSignal): AsyncGenerator<T> {
  const iterator = items[Symbol.asyncIterator]();
  const stop = () => void iterator.return?.();
  ended.addEventListener("abort", stop);
  try {
    while (!ended.aborted) {
      const next = await iterator.next();
      if (next.done || ended.aborted) return;
      yield next.value;
    }
  } finally {
    ended.removeEventListener("abort", stop);
    await iterator.return?.();
  }
}
