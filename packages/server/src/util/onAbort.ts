type Listener = () => void;

const listenersBySignal = new WeakMap<AbortSignal, Set<Listener>>();

/**
 * Calls the listener when the signal is aborted. Thousands of connections and streams may listen to the signal of one
 * key. An `AbortSignal` walks through all its listeners for each one that is added or removed, so it gets a single one.
 * @returns a function that removes the listener.
 */
export function onAbort(signal: AbortSignal, listener: Listener): () => void {
  const known = listenersBySignal.get(signal);
  const listeners = known ?? new Set<Listener>();
  if (known === undefined) {
    listenersBySignal.set(signal, listeners);
    signal.addEventListener("abort", () => {
      for (const call of listeners) call();
    });
  }
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
