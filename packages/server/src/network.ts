import { isDeepStrictEqual } from "node:util";
import type { WaiverAccount } from "@gas-waiver/protocol";
import { NodeClient } from "./chain/client/nodeClient.js";
import { findChainDifference } from "./chain/compareChain.js";
import { addNodeGauges, nodeStatuses } from "./chain/heads/nodeStatus.js";
import { watchEndpoints } from "./chain/heads/watchEndpoints.js";
import { EndpointHeads } from "./chain/rpc/endpointHeads.js";
import { createRequestPaces } from "./chain/rpc/requestPace.js";
import { createRpc } from "./chain/rpc/rpc.js";
import { confirmServedChain, findServedChain } from "./chain/servedChain.js";
import { observeReadiness } from "./health/readiness.js";
import { FailedAuthentications } from "./http/limits/failedAuthentications.js";
import {
  type ConfiguredGrants,
  type ConfiguredRights,
  createConfiguredGrants,
} from "./keys/configuredGrants.js";
import {
  type IdentifiedToken,
  identifyKeys,
  identifyTokens,
  recordSecretsRead,
} from "./keys/configuredKeys.js";
import { KeyDirectory } from "./keys/directory.js";
import { startAuditingFailures } from "./maintenance/auditFailures.js";
import { limitsOfService } from "./model/keys/caller.js";
import type { ResolvedOptions } from "./model/options/options.js";
import { WALLETS } from "./model/options/origins.js";
import { type ReloadableOptions, reload, withReloaded } from "./model/options/reloadableOptions.js";
import type { Logger } from "./model/telemetry/log.js";
import { createRegistry } from "./policy/registry.js";
import { assertRegistryReadable } from "./policy/source.js";
import { assertNodesUsable, confirmNodes } from "./preflight/startCheck.js";
import { type RelayParts, startRelay } from "./relay.js";
import { countSubmissions } from "./store/chains.js";
import type { OpenStore } from "./store/store.js";
import { onAbort } from "./util/onAbort.js";
import { sleepUnless } from "./util/wakeableTimer.js";

/** The longest answer of a node to the replay of a revert. A contract can return a lot. */
const MAX_REPLAY_BYTES = 1_048_576;
/** The time between two attempts to start the lanes, in ms. */
const LANE_RETRY_MS = 500;

/** The store, options and log that a network is built on. */
export interface NetworkFoundations
  extends Pick<
    RelayParts,
    "options" | "log" | "loop" | "metricsRegistry" | "onReloadRequested" | "patience"
  > {
  /** The service has no other network. */
  readonly isAlone: boolean;
  /** The network closes it. */
  readonly store: OpenStore;
  /** Aborted when the service begins to shut down. */
  readonly leaving: AbortSignal;
}

/** The parts that are built before the first call to a node. */
interface KeyedFoundations extends NetworkFoundations {
  readonly keys: KeyDirectory;
  readonly configuredKeys: ConfiguredGrants;
  readonly adminTokens: { current: readonly IdentifiedToken[] };
  /** Aborts every call that leaves this process. */
  readonly ending: AbortController;
}

/** The running parts of a network, which the HTTP interfaces serve. */
export type NetworkParts = Awaited<ReturnType<typeof startParts>>;

/** Applies options that were checked. It changes them at once, resolves when the keys follow, and never fails. */
export type PreparedOptions = () => Promise<void>;

/** A chain that the service relays to: its store, keys, nodes and lanes, without any port. */
export type Network = Awaited<ReturnType<typeof openNetwork>>;

/**
 * Builds a network, each part once, in this order: keys, chain, relay (lanes and intake). Its lanes work from then on.
 * @throws {@link StartError}. Then everything of it is closed, the store as well.
 */
export async function openNetwork(foundations: NetworkFoundations) {
  const { store, log } = foundations;
  // A copy, which changes while the network runs. All parts hold this one.
  const options = { ...foundations.options };
  const ending = new AbortController();
  let keys: KeyDirectory | undefined;
  try {
    keys = await KeyDirectory.open({ store, log, options });
    const secrets = await identifySecrets(store, options);
    if (secrets.configuredKeys.length === 0 && keys.size === 0)
      log.warn("there is no API key: nobody can submit");
    await recordSecretsRead(store, { waivers: options.waivers, ...secrets });
    const configuredKeys = createConfiguredGrants(secrets.configuredKeys, rightsIn(options));
    const adminTokens = { current: secrets.adminTokens };
    const parts = await startParts({ ...foundations, options, keys, configuredKeys, adminTokens, ending });
    const lanes = beginLanes(parts);
    return {
      parts,
      setWaivers: lanes.setWaivers,
      /** Does everything about a change of options that can fail. */
      prepareOptions: (changed: ReloadableOptions) => prepareOptions(parts, changed),
      rewind: (goBack: () => Promise<boolean>) => rewind(parts, lanes.started, goBack),
      /**
       * Accepts nothing more, waits for the open lines, finishes what is signed, releases the lanes, and answers the lines that
       * are still open: within `shutdownMs` and a moment.
       */
      drain: () => drain(parts, lanes.started),
      /** Closes what is left, after the drain and when no request comes any more. */
      close: () => close(parts),
    };
  } catch (error) {
    ending.abort();
    keys?.close();
    await store.close();
    throw error;
  }
}

async function identifySecrets(store: OpenStore, options: ResolvedOptions) {
  return {
    configuredKeys: await identifyKeys(store, [...options.apiKeys, ...options.publicApiKeys]),
    adminTokens: await identifyTokens(store, options.adminTokens),
  };
}

/** The rights of the keys of the configuration. */
function rightsIn(options: ResolvedOptions): ConfiguredRights {
  return { limits: limitsOfService(options), publicKeyOrigins: [...options.corsOrigins, WALLETS] };
}

/** Prepares a change of options while the network runs. */
async function prepareOptions(
  { options, store, keys, configuredKeys, adminTokens, relay }: NetworkParts,
  changed: ReloadableOptions,
): Promise<PreparedOptions> {
  const resolved = withReloaded(options, changed);
  const secrets = await identifySecrets(store, resolved);
  const areSecretsSame = isDeepStrictEqual(
    [resolved.apiKeys, resolved.adminTokens],
    [options.apiKeys, options.adminTokens],
  );
  if (!areSecretsSame) await recordSecretsRead(store, secrets);
  return async () => {
    const areTargetsSame = isDeepStrictEqual(resolved.allowedTargets, options.allowedTargets);
    reload(options, resolved);
    configuredKeys.set(secrets.configuredKeys, rightsIn(options));
    adminTokens.current = secrets.adminTokens;
    if (!areTargetsSame) relay.policies.applyConfigured();
    // While the store is away, the directory itself goes on trying.
    await keys.refresh(true).catch(() => {});
  };
}

async function startParts(foundations: KeyedFoundations) {
  const { options, store, log, ending, patience } = foundations;
  const { signal } = ending;
  const heads = new EndpointHeads(options.rpcUrls.length, patience);
  const paces = createRequestPaces(options.rpcRatePerSecond);
  const rpc = createRpc({ ...options, signal, heads, paces });
  const chain = new NodeClient(rpc, options.chainId);
  // A call that a client has chosen, on which a node hangs or by which its limit is reached, makes no node rest for the lanes.
  const ofClients = { ...options, signal, heads, paces, maxResponseBytes: options.gatewayAnswerBytes };
  const gatewayRpc = createRpc({ ...ofClients, readPriority: "gateway" });
  const checkedChain = new NodeClient(createRpc({ ...ofClients, readPriority: "check" }), options.chainId);
  // Whoever sends what reverts has it replayed.
  const replayRpc = createRpc({ ...ofClients, readPriority: "check", maxResponseBytes: MAX_REPLAY_BYTES });
  const registry = options.policySource === "config" ? undefined : createRegistry(rpc);
  const earlierSubmissions = await countSubmissions(store);
  const served = await findServedChain({ chain, store, options }, foundations.isAlone);
  if (served.confirmed) await assertNodesUsable(options, log, signal);
  if (served.confirmed && registry) {
    await assertRegistryReadable(
      registry,
      options.waivers.map(({ address }) => address),
    );
  }
  const isServedBy = async (client: NodeClient) =>
    (await findChainDifference(client, served, store)) === undefined;
  const watch = watchEndpoints({ ...options, isServedBy, heads, paces, log, signal });
  const { chainRef } = served;
  const relay = await startRelay({ ...foundations, chain, replayRpc, heads, registry, chainRef, signal });
  addNodeGauges(relay.metrics.registry, () => nodeStatuses(options.rpcUrls, heads));
  // Never rejects: the follower of the registry goes on until a node answers.
  if (served.confirmed) await relay.policies.start();
  const readiness = observeReadiness({ ...foundations, relay, heads });
  const failures = new FailedAuthentications({ log, metrics: relay.metrics });
  const failureAudit = startAuditingFailures({ store, failures, log });
  return {
    ...foundations,
    ...{ earlierSubmissions, chain, checkedChain, gatewayRpc, served, relay },
    ...{ watch, readiness, failures, failureAudit },
  };
}

/** Starts the lanes as soon as the node's chain is confirmed: nothing is sent to a chain that may not be ours. */
function beginLanes({ options, store, log, chain, served, relay, ending }: NetworkParts) {
  const { signal } = ending;
  let waivers = options.waivers;
  const confirmed = served.confirmed
    ? Promise.resolve(true)
    : confirmServedChain({ chain, store, options, served }, log, signal).then(async (isOurs) => {
        const isUsable = isOurs && (await confirmNodes(options, log, signal));
        if (isUsable) await relay.policies.start();
        return isUsable;
      });
  const start = () => relay.lanes.setWaivers(waivers);
  const started = confirmed.then((isUsable) => (isUsable ? untilStarted(start, log, signal) : undefined));
  return {
    started,
    /** @param changed waivers that were checked. */
    async setWaivers(changed: readonly WaiverAccount[]): Promise<void> {
      waivers = changed;
      await started;
      // The store is closed after the end, and nothing reads the waivers any more.
      if (signal.aborted) return;
      await recordSecretsRead(store, { waivers: changed });
      await relay.lanes.setWaivers(changed);
      relay.policies.refresh();
    },
  };
}

/**
 * Starts the lanes, also after attempts that have failed half-way: the service runs meanwhile, so a store that is away just now is
 * tried again. Never rejects.
 */
async function untilStarted(start: () => Promise<void>, log: Logger, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      return await start();
    } catch (error) {
      log.warn({ err: (error as Error).message }, "the lanes cannot start yet");
    }
    await sleepUnless(LANE_RETRY_MS, signal);
  }
}

async function rewind(
  { options, relay }: Pick<NetworkParts, "options" | "relay">,
  lanesStarted: Promise<void>,
  goBack: () => Promise<boolean>,
): Promise<boolean> {
  if (options.newChain !== "adopt") throw new Error('only a service with newChain "adopt" can go back');
  await lanesStarted;
  return await relay.rewind(goBack);
}

async function drain(
  { options, served, relay, ending }: NetworkParts,
  lanesStarted: Promise<void>,
): Promise<void> {
  relay.intake.stopAccepting();
  // Lines that do not come, and calls to a node or a custody that does not answer, are given up in time; what is signed
  // stays signed.
  const limit = setTimeout(() => ending.abort(), options.shutdownMs);
  if (!served.confirmed) ending.abort();
  await Promise.race([relay.intake.linesEnded(), aborted(ending.signal)]);
  await lanesStarted;
  await relay.lanes.stop();
  clearTimeout(limit);
  ending.abort();
  relay.intake.endLines();
}

async function close({ store, keys, relay, watch, readiness, failureAudit }: NetworkParts): Promise<void> {
  readiness.close();
  keys.close();
  await watch;
  await relay.close();
  await failureAudit.close();
  await store.close();
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await new Promise<void>((resolve) => onAbort(signal, resolve));
}
