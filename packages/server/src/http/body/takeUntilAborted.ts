import { onAbort } from "../../util/onAbort.js";

/** Yields items until the signal is aborted, then tells the source to stop. It cancels no work behind the items (D19). */
export async function* takeUntilAborted<T>(items: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = items[Symbol.asyncIterator]();
  const removeListener = onAbort(signal, () => void iterator.return?.());
  try {
    while (!signal.aborted) {
      const next = await iterator.next();
      if (next.done || signal.aborted) return;
      yield next.value;
    }
  } finally {
    removeListener();
    await iterator.return?.();
  }
}
