import type { Readiness, ReadyPart } from "@gas-waiver/protocol";
import { within } from "../util/within.js";

/** Tells whether the service can do its work (D24). */
export interface ReadinessProbe {
  /**
   * Answers within {@link PROBE_TIMEOUT_MS}. Queries the store and the node once a second at most, however often it is
   * called.
   */
  probe(): Promise<Readiness>;
}

export interface ReadinessDependencies {
  /** Queries the store for the lanes and their waivers. */
  probeWaivers(): Promise<WaiverHealth>;
  /** Calls the node. */
  probeChain(): Promise<unknown>;
  isShuttingDown(): boolean;
  /** Returns the reason why the store can store nothing now, even if it still answers. */
  storeTrouble?(): string | undefined;
  /** Names the nodes that are not asked, because they are behind or on another chain. */
  nodeTrouble?(): string | undefined;
  /** Returns the time in ms, from any origin. */
  readonly now?: () => number;
  readonly timeoutMs?: number;
}

export interface WaiverHealth {
  /** Number of lanes that take work. */
  readonly usable: number;
  /** One sentence, for a person, for each waiver that the policies keep from working. */
  readonly unusable: readonly string[];
}

/** A load balancer must not wait for the longer time-outs of calls to a node. */
export const PROBE_TIMEOUT_MS = 2_000;
/** A result is answered again for this long. */
const CACHE_MS = 1_000;

type ProbedParts = Pick<Readiness["parts"], "store" | "chain" | "waivers">;

export function createReadiness({
  probeWaivers,
  probeChain,
  isShuttingDown,
  storeTrouble = () => undefined,
  nodeTrouble = () => undefined,
  now = () => performance.now(),
  timeoutMs = PROBE_TIMEOUT_MS,
}: ReadinessDependencies): ReadinessProbe {
  let cached: { readonly parts: Promise<ProbedParts>; until: number } | undefined;
  const probeParts = async (): Promise<ProbedParts> => {
    const [waivers, chain] = await Promise.allSettled([
      within(timeoutMs, probeWaivers()),
      within(timeoutMs, probeChain()),
    ]);
    const trouble = storeTrouble();
    return {
      store: trouble ? { ok: false, message: trouble } : partOf(waivers, "the store cannot be used"),
      chain: chainPart(chain, nodeTrouble()),
      waivers: waiversPart(waivers.status === "fulfilled" ? waivers.value : { usable: 0, unusable: [] }),
    };
  };
  return {
    async probe() {
      if (cached === undefined || now() >= cached.until) {
        // One probe runs at a time, however long it takes. Its result ages from its end.
        const current = { parts: probeParts(), until: Number.POSITIVE_INFINITY };
        cached = current;
        await current.parts;
        current.until = now() + CACHE_MS;
      }
      const parts = await cached.parts;
      if (isShuttingDown()) {
        const service = { ok: false, message: "the service is shutting down" };
        return { ready: false, parts: { ...parts, service } };
      }
      return { ready: Object.values(parts).every(({ ok }) => ok), parts };
    },
  };
}

/** Leaves out the cause of a failure, which may name hosts: it is for the log, not for customers. */
function partOf(outcome: PromiseSettledResult<unknown>, message: string): ReadyPart {
  return outcome.status === "fulfilled" ? { ok: true } : { ok: false, message };
}

/** One node that can be used is enough to be ready. The message names the others all the same. */
function chainPart(outcome: PromiseSettledResult<unknown>, trouble: string | undefined): ReadyPart {
  const part = partOf(outcome, "the node cannot be used");
  if (trouble === undefined) return part;
  return { ...part, message: part.message === undefined ? trouble : `${part.message}; ${trouble}` };
}

/** One usable waiver is enough to be ready. The message names the others all the same. */
function waiversPart({ usable, unusable }: WaiverHealth): ProbedParts["waivers"] {
  const problems = [...(usable > 0 ? [] : ["no waiver takes work"]), ...unusable];
  return { ok: usable > 0, usable, ...(problems.length > 0 && { message: problems.join("; ") }) };
}
