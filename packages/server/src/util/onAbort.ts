type Listener = () => void;

/** A listener until it is removed. */
interface ListenerEntry {
  listener: Listener | undefined;
}

const entriesBySignal = new WeakMap<AbortSignal, Set<ListenerEntry>>();

/**
 * Calls the listener when the signal is aborted. Thousands of connections and streams may listen to the signal of one
 * key. An `AbortSignal` walks through all its listeners for each one that is added or removed, so it gets a single one.
 * @returns a function that removes the listener.
 */
export function onAbort(signal: AbortSignal, listener: Listener): () => void {
  const known = entriesBySignal.get(signal);
  const entries = known ?? new Set<ListenerEntry>();
  if (known === undefined) {
    entriesBySignal.set(signal, entries);
    signal.addEventListener("abort", () => {
      for (const entry of entries) entry.listener?.();
    });
  }
  const entry: ListenerEntry = { listener };
  entries.add(entry);
  return () => {
    entries.delete(entry);
    // A growing set leaves its old table behind. The old table keeps its entries alive until the next full garbage
    // collection.
    entry.listener = undefined;
  };
}
