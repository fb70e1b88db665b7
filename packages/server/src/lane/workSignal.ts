type WorkListener = (waivers: readonly Uint8Array[] | undefined) => void;

/** Tells the lanes of this replica that the store has work for them. */
export interface WorkSignal {
  /** Calls the listeners with the waivers whose lanes have work; undefined stands for any lane. */
  announce(waivers?: readonly Uint8Array[]): void;
  onWork(listener: WorkListener): void;
}

export function createWorkSignal(): WorkSignal {
  const listeners: WorkListener[] = [];
  return {
    announce(waivers) {
      for (const listener of listeners) listener(waivers);
    },
    onWork(listener) {
      listeners.push(listener);
    },
  };
}
