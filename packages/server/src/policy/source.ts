import { bytesToHex, ProtocolError, REGISTRY_ADDRESS } from "@gas-waiver/protocol";
import { RpcUnavailableError } from "../chain/rpc/rpc.js";
import { StartError } from "../model/errors.js";
import type { ResolvedOptions } from "../model/options/options.js";
import type { Logger } from "../model/telemetry/log.js";
import { configuredPolicies, type PolicySet, registryPolicies, type WaiverTargets } from "./policySet.js";
import { type Registry, RegistryUnreadableError } from "./registry.js";
import { RegistryFollower } from "./registryFollower.js";

/** Knows what the waivers may send: from the chain's registry, from the configuration, or from both. */
export interface PolicySource {
  /**
   * Once the registry was read, this is its last state, also while the node is away: the chain itself refuses what is no
   * longer allowed (D8). Before that, it is the configuration alone.
   * @throws {@link ProtocolError} `CHAIN_UNAVAILABLE` if no policy is known yet, so that nothing can be accepted.
   */
  current(): PolicySet;
  /** False until a policy is known. */
  readonly isKnown: boolean;
  /** @returns one sentence, for a person, if the waiver's lane can take no work; undefined if it can. Never throws. */
  whyUnusable(waiver: Uint8Array): string | undefined;
  /** Reads the registry, if it is a source, and starts to follow it. Resolves also if no node answers. */
  start(): Promise<void>;
  /**
   * Reads the registry again if it has changed. To be called with each new block, and when the waivers change.
   * @param height the height of the chain, if it is known.
   */
  refresh(height?: bigint): void;
  /** Reads the registry again, if it is a source, whatever blocks show. Resolves also if no node answers. */
  reread(): Promise<void>;
  /** Applies the option `allowedTargets` after a change of it. */
  applyConfigured(): void;
  close(): Promise<void>;
}

export interface PolicySourceDependencies {
  /** Undefined if the configuration alone is the source. */
  readonly registry: Registry | undefined;
  readonly options: Pick<ResolvedOptions, "allowedTargets" | "pollIntervalMs">;
  readonly log: Logger;
  /** Aborted when the calls to the nodes are given up. */
  readonly signal?: AbortSignal;
  /** @returns the waivers whose lanes may take work, on this replica and others: 20 bytes each. */
  waivers(): readonly Uint8Array[];
  /** @returns whether the waiver's lane is to take work now, as the store has it. Never rejects. */
  isOpen(waiver: Uint8Array): Promise<boolean>;
  /** Called when the policies were read again, and so may have changed. */
  onChange(): void;
}

export function createPolicySource({
  registry,
  options,
  log,
  signal,
  waivers,
  isOpen,
  onChange,
}: PolicySourceDependencies): PolicySource {
  const fromConfiguration = () => options.allowedTargets && configuredPolicies(options.allowedTargets);
  let policies = fromConfiguration();
  let lastReading: readonly WaiverTargets[] | undefined;
  const whyUnusable = (waiver: Uint8Array) => policies?.whyUnusable(waiver);
  const set = (fresh: PolicySet, affected: readonly Uint8Array[]) => {
    for (const waiver of affected) {
      const [before, now] = [whyUnusable(waiver), fresh.whyUnusable(waiver)];
      if (now !== undefined && now !== before) void reportUnusable({ log, isOpen }, waiver, now);
      else if (now === undefined && before !== undefined)
        log.info({ waiver: bytesToHex(waiver) }, "the waiver is registered: its lane takes work");
    }
    policies = fresh;
    onChange();
  };
  const follower =
    registry &&
    new RegistryFollower({
      registry,
      log,
      pollIntervalMs: options.pollIntervalMs,
      ...(signal && { signal }),
      waivers,
      onReading: (affected, { targets }) => {
        lastReading = affected.map((waiver, i) => ({ waiver, targets: targets[i] }));
        set(registryPolicies(lastReading, options.allowedTargets), affected);
      },
    });
  return {
    current: () => policies ?? throwUnknown(),
    get isKnown() {
      return policies !== undefined;
    },
    whyUnusable,
    async start() {
      // The follower goes on trying until the node is back.
      await follower?.start().catch(() => {});
    },
    refresh: (height) => follower?.refresh(height),
    async reread() {
      // The follower goes on trying until the node is back.
      await follower?.reread().catch(() => {});
    },
    applyConfigured() {
      policies = lastReading ? registryPolicies(lastReading, options.allowedTargets) : fromConfiguration();
      onChange();
    },
    async close() {
      await follower?.close();
    },
  };
}

/** A waiver that is revoked after an operator has drained or stopped its lane wants nobody. */
async function reportUnusable(
  { log, isOpen }: Pick<PolicySourceDependencies, "log" | "isOpen">,
  waiver: Uint8Array,
  why: string,
): Promise<void> {
  const level = (await isOpen(waiver)) ? "error" : "info";
  log[level]({ why }, "the waiver's lane takes no work");
}

/**
 * Checks that calls can read the registry at all. A service that follows an unreadable one would wait for ever. A node
 * that does not answer proves nothing, and passes.
 * @throws {@link StartError}.
 */
export async function assertRegistryReadable(
  registry: Registry,
  waivers: readonly Uint8Array[],
): Promise<void> {
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

function throwUnknown(): never {
  const message = "the policies could not be read from the chain's node yet; nothing was accepted";
  throw new ProtocolError("CHAIN_UNAVAILABLE", message);
}
