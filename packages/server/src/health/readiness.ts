import type { Readiness, ReadyPart } from "@gas-waiver/protocol";
import { nodeStatuses, troubleOf } from "../chain/heads/nodeStatus.js";
import type { EndpointHeads } from "../chain/rpc/endpointHeads.js";
import type { ResolvedOptions } from "../model/options/options.js";
import type { Patience } from "../model/patience.js";
import { troubleNamed } from "../store/database/storeTrouble.js";
import type { OpenStore } from "../store/store.js";
import { within } from "../util/within.js";
import { createLastingState, PATIENCE_MS } from "./lastingState.js";

/**
 * Tells whether the service can do its work (D24). The probes answer within {@link REFRESH_TIMEOUT_MS}, and read the lanes
 * from the store once a second at most, however often they are called.
 */
export type ReadinessProbe = ReturnType<typeof createReadiness>;

/** The parts as the service's own polls have them: nothing here asks the store or the node. */
export interface ObservedParts {
  /** The reason why the store cannot be used now; undefined if it can. */
  readonly storeTrouble: string | undefined;
  /** Whether a node that may be asked gives heads. */
  readonly chainAnswers: boolean;
  /** Names the nodes that are not asked, because they are behind or on another chain. */
  readonly nodeTrouble: string | undefined;
  readonly waivers: WaiverHealth;
}

export interface ReadinessDependencies {
  observe(): ObservedParts;
  /** Reads the lanes from the store, for an answer that is of now. */
  refreshLanes(): Promise<void>;
  isShuttingDown(): boolean;
  /** The time for which a part may be unwell before it counts as unwell, in ms. */
  readonly patienceMs: number;
}

export interface WaiverHealth {
  /** Number of lanes that take work. */
  readonly usable: number;
  /** Number of lanes that take no work, and may take some at any moment without an operator. */
  readonly recovering: number;
  /** The reasons for which waivers do not work, such as their policies or stopped lanes: sentences for a person. */
  readonly unusable: readonly string[];
}

/** A load balancer must not wait for the longer time-outs of the store. */
const REFRESH_TIMEOUT_MS = 2_000;
/** The lanes are read again for an answer after this time. */
const REFRESH_MS = 1_000;
/** The interval of the observations, which cost nothing. */
const OBSERVE_MS = 500;

type ProbedParts = Pick<Readiness["parts"], "store" | "chain" | "waivers">;

export function createReadiness({
  observe,
  refreshLanes,
  isShuttingDown,
  patienceMs,
}: ReadinessDependencies) {
  const store = createLastingState(patienceMs);
  const chain = createLastingState(patienceMs);
  const waivers = createLastingState(patienceMs);
  let wasReady = false;
  const observeParts = (): ProbedParts => {
    const { storeTrouble, chainAnswers, nodeTrouble, waivers: health } = observe();
    const at = performance.now();
    store.observe(storeTrouble === undefined, at);
    chain.observe(chainAnswers, at);
    waivers.observe(health.usable > 0, at);
    // A stopped or drained lane, or a policy, does not change by itself.
    if (health.usable + health.recovering === 0) waivers.end();
    wasReady ||= store.isWell && chain.isWell && waivers.isWell;
    return {
      store: partOf(store.isWell, [storeTrouble]),
      chain: partOf(chain.isWell, [chainAnswers ? undefined : "the node cannot be used", nodeTrouble]),
      waivers: waiversPart(waivers.isWell, health),
    };
  };
  const timer = setInterval(observeParts, OBSERVE_MS).unref();
  let refresh: { readonly done: Promise<void>; until: number } | undefined;
  const probe = async (): Promise<Readiness> => {
    if (isShuttingDown()) return readinessAtShutdown(observeParts());
    if (refresh === undefined || performance.now() >= refresh.until) {
      // One refresh runs at a time, however long it takes. A failed one shows in the store's state.
      const done = within(REFRESH_TIMEOUT_MS, refreshLanes()).catch(() => {});
      const current = { done, until: Number.POSITIVE_INFINITY };
      refresh = current;
      await done;
      current.until = performance.now() + REFRESH_MS;
    }
    await refresh.done;
    const parts = observeParts();
    if (isShuttingDown()) return readinessAtShutdown(parts);
    return { ready: Object.values(parts).every(({ ok }) => ok), parts };
  };
  return {
    /** Whether the service can do its work. */
    probe,
    /**
     * Whether work should come to this replica rather than to another one, for proxies. A replica that was ready once, and has
     * its store, stays: chain and lanes are the same to all replicas, and work is stored meanwhile.
     */
    async probeReplica(): Promise<Readiness> {
      const { parts } = await probe();
      return { ready: wasReady && parts.store.ok && parts.service === undefined, parts };
    },
    /** Ends the observation. */
    close: () => clearInterval(timer),
  };
}

function readinessAtShutdown(parts: ProbedParts): Readiness {
  const service = { ok: false, message: "the service is shutting down" };
  return { ready: false, parts: { ...parts, service } };
}

/** A part that is well may have a message all the same: of a trouble that began just now, or of a part of it. */
function partOf(ok: boolean, troubles: readonly (string | undefined)[]): ReadyPart {
  const sentences = troubles.filter((trouble) => trouble !== undefined);
  return { ok, ...(sentences.length > 0 && { message: sentences.join("; ") }) };
}

/** One usable waiver is enough to be ready. The message names the others all the same. */
function waiversPart(ok: boolean, { usable, unusable }: WaiverHealth): ProbedParts["waivers"] {
  const troubles = [usable > 0 ? undefined : "no waiver takes work", ...unusable];
  return { ...partOf(ok, troubles), usable };
}

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
export function observeReadiness({ options, patience, store, relay, heads, leaving }: ObservedService) {
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
