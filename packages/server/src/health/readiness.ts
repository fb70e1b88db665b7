import type { Readiness, ReadyPart } from "@gas-waiver/protocol";
import { within } from "../util/within.js";
import { createLastingState } from "./lastingState.js";

/**
 * Tells whether the service can do its work (D24). The probes answer within {@link REFRESH_TIMEOUT_MS}, and read the lanes
 * from the store once a second at most, however often they are called.
 */
export interface ReadinessProbe {
  /** Whether the service can do its work. */
  probe(): Promise<Readiness>;
  /**
   * Whether work should come to this replica rather than to another one, for proxies. A replica that was ready once, and has
   * its store, stays: chain and lanes are the same to all replicas, and work is stored meanwhile.
   */
  probeReplica(): Promise<Readiness>;
  /** Ends the observation. */
  close(): void;
}

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
  /** Returns the time in ms, from any origin. */
  readonly now?: () => number;
  readonly timeoutMs?: number;
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
export const REFRESH_TIMEOUT_MS = 2_000;
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
  now = () => performance.now(),
  timeoutMs = REFRESH_TIMEOUT_MS,
}: ReadinessDependencies): ReadinessProbe {
  const store = createLastingState(patienceMs);
  const chain = createLastingState(patienceMs);
  const waivers = createLastingState(patienceMs);
  let wasReady = false;
  const observeParts = (): ProbedParts => {
    const observed = observe();
    const at = now();
    store.observe(observed.storeTrouble === undefined, at);
    chain.observe(observed.chainAnswers, at);
    const { usable, recovering } = observed.waivers;
    waivers.observe(usable > 0, at);
    // A stopped or drained lane, or a policy, does not change by itself.
    if (usable + recovering === 0) waivers.end();
    wasReady ||= store.isWell && chain.isWell && waivers.isWell;
    return {
      store: partOf(store.isWell, [observed.storeTrouble]),
      chain: partOf(chain.isWell, [
        observed.chainAnswers ? undefined : "the node cannot be used",
        observed.nodeTrouble,
      ]),
      waivers: waiversPart(waivers.isWell, observed.waivers),
    };
  };
  const timer = setInterval(observeParts, OBSERVE_MS).unref();
  let refresh: { readonly done: Promise<void>; until: number } | undefined;
  const probe = async (): Promise<Readiness> => {
    if (isShuttingDown()) return readinessAtShutdown(observeParts());
    if (refresh === undefined || now() >= refresh.until) {
      // One refresh runs at a time, however long it takes. A failed one shows in the store's state.
      const done = within(timeoutMs, refreshLanes()).catch(() => {});
      const current = { done, until: Number.POSITIVE_INFINITY };
      refresh = current;
      await done;
      current.until = now() + REFRESH_MS;
    }
    await refresh.done;
    const parts = observeParts();
    if (isShuttingDown()) return readinessAtShutdown(parts);
    return { ready: Object.values(parts).every(({ ok }) => ok), parts };
  };
  return {
    probe,
    async probeReplica() {
      const { parts } = await probe();
      return { ready: wasReady && parts.store.ok && parts.service === undefined, parts };
    },
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
