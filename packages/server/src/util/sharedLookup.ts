/** Looks one thing up by its key; undefined if there is none. */
export type SharedLookup<K, V> = (key: K) => Promise<V | undefined>;

/**
 * Makes one query for all keys that are asked for while another query runs, so that never more than one runs.
 * @param find looks up several keys, each once.
 */
export function createSharedLookup<K, V>(
  find: (keys: readonly K[]) => Promise<ReadonlyMap<K, V>>,
): SharedLookup<K, V> {
  let running: Promise<unknown> = Promise.resolve();
  let next: { readonly keys: Set<K>; readonly found: Promise<ReadonlyMap<K, V>> } | undefined;
  const openNext = () => {
    const keys = new Set<K>();
    const found = running.then(() => {
      next = undefined;
      return find([...keys]);
    });
    running = found.catch(() => {});
    return { keys, found };
  };
  return async (key) => {
    next ??= openNext();
    next.keys.add(key);
    return (await next.found).get(key);
  };
}
