/**
 * `accepted`: nothing but what this replica has accepted, and has handed to the lanes (`acceptedWork.ts`). `any`: the lanes have
 * to read the store.
 */
export type WorkKind = "accepted" | "any";

type WorkListener = (waivers: readonly Uint8Array[] | undefined, work: WorkKind) => void;

/** Tells the lanes of this replica that they have work. */
export interface WorkSignal {
  /** Calls the listeners with the waivers whose lanes have work; undefined stands for any lane. */
  announce(waivers?: readonly Uint8Array[], work?: WorkKind): void;
  onWork(listener: WorkListener): void;
}

export function createWorkSignal(): WorkSignal {
  const listeners: WorkListener[] = [];
  return {
    announce(waivers, work = "any") {
      for (const listener of listeners) listener(waivers, work);
    },
    onWork(listener) {
      listeners.push(listener);
    },
  };
}
