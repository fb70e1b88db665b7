/** Tells the lanes of this replica that they have work. */
export interface WorkSignal {
  /** Calls the listeners with the waivers whose lanes have work; undefined stands for any lane. */
  announce(waivers?: readonly Uint8Array[]): void;
  onWork(listener: (waivers?: readonly Uint8Array[]) => void): void;
}

export function createWorkSignal(): WorkSignal {
  const listeners: ((waivers?: readonly Uint8Array[]) => void)[] = [];
  return {
    announce(waivers) {
      for (const listener of listeners) listener(waivers);
    },
    onWork(listener) {
      listeners.push(listener);
    },
  };
}
