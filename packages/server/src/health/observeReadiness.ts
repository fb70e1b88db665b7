import { nodeStatuses, troubleOf } from "../chain/heads/nodeStatus.js";
import type { EndpointHeads } from "../chain/rpc/endpointHeads.js";
import type { ResolvedOptions } from "../model/options/options.js";
import type { Patience } from "../model/patience.js";
import { troubleNamed } from "../store/database/storeTrouble.js";
import type { OpenStore } from "../store/store.js";
import { PATIENCE_MS } from "./lastingState.js";
import { createReadiness, type ReadinessProbe, type WaiverHealth } from "./readiness.js";

/**
 * A node that has shown no head for this long, in ms, or a store that has shown no lanes, counts as away. Heads are polled
 * every second, and lanes twice a second.
 */
const SILENCE_MS = 3_000;
/** The time that a lane may take to get another owner when its lease has run out, in ms. */
const TAKEOVER_MS = 2_000;

export interface ObservedService {
  readonly options: ResolvedOptions;
  readonly patience: Pick<Patience, "speed">;
  readonly store: Pick<OpenStore, "monitor">;
  readonly relay: {
    refreshLanes(): Promise<void>;
    waiverHealth(): WaiverHealth;
    /** The time of the last read of the lanes, by the monotonic clock in ms. */
    lanesReadAt(): number;
  };
  readonly heads: EndpointHeads;
  /** Aborted when the service begins to shut down. */
  readonly leaving: AbortSignal;
}

/** Observes what the running service knows of its parts. */
export function observeReadiness({
  options,
  patience,
  store,
  relay,
  heads,
  leaving,
}: ObservedService): ReadinessProbe {
  const storeTrouble = () => {
    const isSilent = performance.now() - relay.lanesReadAt() > SILENCE_MS;
    const { trouble, blockedMs } = store.monitor;
    if (trouble || !isSilent) return trouble?.message;
    return blockedMs > 0 ? troubleNamed("blocked").message : "the store cannot be used";
  };
  return createReadiness({
    observe: () => ({
      storeTrouble: storeTrouble(),
      chainAnswers: heads.hasFresh(performance.now() - SILENCE_MS),
      nodeTrouble: troubleOf(nodeStatuses(options.rpcUrls, heads)),
      waivers: relay.waiverHealth(),
    }),
    refreshLanes: relay.refreshLanes,
    isShuttingDown: () => leaving.aborted,
    patienceMs: Math.max(PATIENCE_MS, options.leaseMs + TAKEOVER_MS) / patience.speed,
  });
}
