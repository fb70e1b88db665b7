import type { Readiness, ReadyPart } from "@gas-waiver/protocol";

/** Says whether the service can do its work (D24). */
export interface ReadinessProbe {
  /** Answers within {@link READY_LIMIT_MS}; asked often, it asks store and node once a second at most. */
  probe(): Promise<Readiness>;
}

export interface ReadinessDependencies {
  /** Asks the store, and says how many lanes take work, and of which waivers the policies say that theirs cannot. */
  probeWaivers(): Promise<WaiversSeen>;
  /** Asks the node. */
  askChain(): Promise<unknown>;
  isShuttingDown(): boolean;
  readonly now?: () => number;
  readonly limitMs?: number;
}

export interface WaiversSeen {
  readonly usable: number;
  /** Why not, for a person. */
  readonly unusable: readonly string[];
}

/** Who asks for readiness does not wait for a node's time-outs. */
export const READY_LIMIT_MS = 2_000;
const KEEP_MS = 1_000;

export function createReadiness({
  probeWaivers,
  askChain,
  isShuttingDown,
  now = () => performance.now(),
  limitMs = READY_LIMIT_MS,
}: ReadinessDependencies): ReadinessProbe {
  let kept: { readonly parts: Promise<Parts>; until: number } | undefined;
  const look = async (): Promise<Parts> => {
    const [lanes, chain] = await Promise.allSettled([
      within(limitMs, "the store", probeWaivers()),
      within(limitMs, "the node", askChain()),
    ]);
    return {
      store: partOf(lanes, "the store cannot be used"),
      chain: partOf(chain, "the node cannot be used"),
      waivers: waiversOf(lanes.status === "fulfilled" ? lanes.value : { usable: 0, unusable: [] }),
    };
  };
  return {
    async probe() {
      if (kept === undefined || now() >= kept.until) {
        // One look at a time, however long it takes; its age counts from its end.
        const current = { parts: look(), until: Number.POSITIVE_INFINITY };
        kept = current;
        await current.parts;
        current.until = now() + KEEP_MS;
      }
      const parts = await kept.parts;
      if (isShuttingDown()) {
        const service = { ok: false, message: "the service is shutting down" };
        return { ready: false, parts: { ...parts, service } };
      }
      return { ready: Object.values(parts).every(({ ok }) => ok), parts };
    },
  };
}

type Parts = Pick<Readiness["parts"], "store" | "chain" | "waivers">;

/** The cause is for the log, not for a customer: it may name hosts. */
function partOf(outcome: PromiseSettledResult<unknown>, message: string): ReadyPart {
  return outcome.status === "fulfilled" ? { ok: true } : { ok: false, message };
}

/** One that works is enough; the others are named all the same. */
function waiversOf({ usable, unusable }: WaiversSeen): Parts["waivers"] {
  const problems = [...(usable > 0 ? [] : ["no waiver takes work"]), ...unusable];
  return { ok: usable > 0, usable, ...(problems.length > 0 && { message: problems.join("; ") }) };
}

async function within<T>(ms: number, who: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${who} did not answer within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
