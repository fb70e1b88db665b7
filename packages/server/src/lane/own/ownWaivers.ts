/** The addresses of the waivers whose accounts this replica has; at least one. */
export interface OwnWaivers {
  /** 20 bytes each. */
  current(): readonly Uint8Array[];
  /** Follows the lanes that run. An empty list changes nothing: then none has started yet. */
  set(waivers: readonly Uint8Array[]): void;
}

/** @param configured the waivers that count until their lanes have started. */
export function createOwnWaivers(configured: readonly Uint8Array[]): OwnWaivers {
  let waivers = configured;
  return {
    current: () => waivers,
    set(running) {
      if (running.length > 0) waivers = running;
    },
  };
}
