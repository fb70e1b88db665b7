import { bytesToHex, ProtocolError, REGISTRY_ADDRESS } from "@gas-waiver/protocol";
import { RpcUnavailableError } from "../chain/rpc.js";
import { StartError } from "../model/errors.js";
import type { Logger } from "../model/log.js";
import type { ResolvedOptions } from "../model/options.js";
import { followRegistry } from "./followRegistry.js";
import { configuredPolicies, type PolicySet, registryPolicies } from "./policy.js";
import { type Registry, RegistryUnreadableError } from "./registry.js";

/** Where the service knows from what its waivers may send: the registry of the chain, its configuration, or both. */
export interface PolicySource {
  /**
   * What is known now. After the registry was read once, that is the last that it said, also while the node is away:
   * what has changed meanwhile the chain itself refuses (D8). Before that, a configuration stands alone.
   * @throws {@link ProtocolError} `CHAIN_UNAVAILABLE` if nothing is known yet: nothing can be accepted.
   */
  current(): PolicySet;
  /** Why the waiver's lane can take no work, for a person; undefined if it can. Throws nothing. */
  whyUnusable(waiver: Uint8Array): string | undefined;
  /** Reads the registry, if it is a source, and follows it from then on. Resolves also if no node answers. */
  start(): Promise<void>;
  /** There is a new block, or another waiver. */
  refresh(): void;
  close(): Promise<void>;
}

export interface PolicySourceDependencies {
  /** Undefined: the configuration alone is the source. */
  readonly registry: Registry | undefined;
  readonly options: Pick<ResolvedOptions, "allowedTargets" | "pollIntervalMs">;
  readonly log: Logger;
  /** The waivers whose lanes may take work: this replica's and others'. */
  waivers(): readonly Uint8Array[];
  /** Another policy is known. */
  onChange(): void;
}

export function createPolicySource({
  registry,
  options,
  log,
  waivers,
  onChange,
}: PolicySourceDependencies): PolicySource {
  const configured = options.allowedTargets;
  let policies = configured && configuredPolicies(configured);
  const whyUnusable = (waiver: Uint8Array) => policies?.whyUnusable(waiver);
  const set = (fresh: PolicySet, asked: readonly Uint8Array[]) => {
    for (const waiver of asked) {
      const [before, now] = [whyUnusable(waiver), fresh.whyUnusable(waiver)];
      if (now !== undefined && now !== before) log.error({ why: now }, "the waiver's lane takes no work");
      else if (now === undefined && before !== undefined)
        log.info({ waiver: bytesToHex(waiver) }, "the waiver is registered: its lane takes work");
    }
    policies = fresh;
    onChange();
  };
  const follower =
    registry &&
    followRegistry({
      registry,
      log,
      pollIntervalMs: options.pollIntervalMs,
      waivers,
      onReading: (asked, { targets }) => {
        const found = asked.map((waiver, i) => ({ waiver, targets: targets[i] }));
        set(registryPolicies(found, configured), asked);
      },
    });
  return {
    current() {
      if (policies === undefined) throw unknownYet();
      return policies;
    },
    whyUnusable,
    async start() {
      // It goes on trying: what cannot be read now may be readable when the node is back.
      await follower?.start().catch(() => {});
    },
    refresh: () => follower?.refresh(),
    async close() {
      await follower?.close();
    },
  };
}

/**
 * A service that is told to follow a registry which calls cannot read would wait for ever.
 * @throws {@link StartError}; a node that does not answer is no reason.
 */
export async function assertReadable(registry: Registry, waivers: readonly Uint8Array[]): Promise<void> {
  try {
    await registry.read(waivers);
  } catch (error) {
    if (error instanceof RpcUnavailableError) return;
    if (!(error instanceof RegistryUnreadableError)) throw error;
    const where = bytesToHex(REGISTRY_ADDRESS);
    const remedy = 'configure what may be sent (allowed targets), and "config" as the source of policies';
    throw new StartError(`the WaiverRegistry at ${where} cannot be read: ${error.message}; ${remedy}`, {
      cause: error,
    });
  }
}

function unknownYet(): ProtocolError {
  const message = "the chain's node has not told yet what may be sent; nothing was accepted";
  return new ProtocolError("CHAIN_UNAVAILABLE", message);
}
