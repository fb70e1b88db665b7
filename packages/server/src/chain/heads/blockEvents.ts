export type BlockEvents = ReturnType<typeof createBlockEvents>;

/**
 * Tells of new blocks to whoever listens at the time.
 * @param onListener called when the first listener has come.
 */
export function createBlockEvents(onListener: () => void) {
  const listeners = new Set<() => void>();
  const rewindListeners: (() => void)[] = [];
  let latest: bigint | undefined;
  return {
    /** The latest height that the service knows; undefined until the first. */
    get height() {
      return latest;
    },
    get hasListeners() {
      return listeners.size > 0;
    },
    /** @param height undefined if only the fact of a new block is known. */
    announce(height: bigint | undefined) {
      latest = height ?? latest;
      for (const listener of listeners) listener();
    },
    /** @returns a function that ends the listening. */
    onNewBlock(listener: () => void) {
      listeners.add(listener);
      if (listeners.size === 1) onListener();
      return () => void listeners.delete(listener);
    },
    /** Tells that a developer took the chain back, so that blocks that counted as final are gone. */
    announceRewind() {
      latest = undefined;
      for (const listener of rewindListeners) listener();
    },
    onRewind: (listener: () => void) => void rewindListeners.push(listener),
  };
}
