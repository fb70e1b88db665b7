/** Tells of new blocks to whoever listens at the time. */
export interface BlockEvents {
  /** The latest height that the service knows; undefined until the first. */
  readonly height: bigint | undefined;
  readonly hasListeners: boolean;
  /** @param height undefined if only the fact of a new block is known. */
  announce(height: bigint | undefined): void;
  /** @returns a function that ends the listening. */
  onNewBlock(listener: () => void): () => void;
  /** Tells that a developer took the chain back, so that blocks that counted as final are gone. */
  announceRewind(): void;
  onRewind(listener: () => void): void;
}

/** @param onListener called when the first listener has come. */
export function createBlockEvents(onListener: () => void): BlockEvents {
  const listeners = new Set<() => void>();
  const rewindListeners: (() => void)[] = [];
  let latest: bigint | undefined;
  return {
    get height() {
      return latest;
    },
    get hasListeners() {
      return listeners.size > 0;
    },
    announce(height) {
      latest = height ?? latest;
      for (const listener of listeners) listener();
    },
    onNewBlock(listener) {
      listeners.add(listener);
      if (listeners.size === 1) onListener();
      return () => listeners.delete(listener);
    },
    announceRewind() {
      latest = undefined;
      for (const listener of rewindListeners) listener();
    },
    onRewind: (listener) => void rewindListeners.push(listener),
  };
}
