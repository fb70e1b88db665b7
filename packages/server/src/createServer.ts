import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { useNativeCrypto } from "@gas-waiver/crypto-native";
import { crypto, type WaiverAccount } from "@gas-waiver/protocol";
import { createAdminApp } from "./admin/app.js";
import { findChainDifference } from "./chain/compareChain.js";
import { EndpointHeads } from "./chain/endpointHeads.js";
import { createNodeClient, type NodeClient } from "./chain/nodeClient.js";
import { nodeStatuses } from "./chain/nodeStatus.js";
import { createRpc, type Rpc } from "./chain/rpc.js";
import { confirmServedChain, findServedChain, type ServedChain } from "./chain/servedChain.js";
import { watchEndpoints } from "./chain/watchEndpoints.js";
import { createChecker } from "./check/check.js";
import { observeReadiness } from "./health/observeReadiness.js";
import type { ReadinessProbe } from "./health/readiness.js";
import { createApp } from "./http/app.js";
import { createClientAddress } from "./http/clientAddress.js";
import { FailedAuthentications } from "./http/limits/failedAuthentications.js";
import { type ListenAddress, listen } from "./http/listen.js";
import { createOperatorsApp } from "./http/operatorsApp.js";
import { replaceCertificate } from "./http/tls.js";
import { recordSecretsRead } from "./keys/auditSecrets.js";
import {
  type ConfiguredKey,
  type IdentifiedToken,
  identifyKeys,
  identifyTokens,
} from "./keys/configuredKeys.js";
import { type KeyDirectory, openKeyDirectory } from "./keys/directory.js";
import { createKeyAdmin } from "./keys/keyAdmin.js";
import { startLanes } from "./lane/startLanes.js";
import { startAuditingFailures } from "./maintenance/auditFailures.js";
import { limitsOfService } from "./model/caller.js";
import { InvalidOptionsError, StartError } from "./model/errors.js";
import { createLog, type Logger } from "./model/log.js";
import { addNodeGauges } from "./model/metrics.js";
import type { ResolvedOptions, ServerOptions } from "./model/options.js";
import { resolveOptions } from "./model/resolveOptions.js";
import { certificateProblems, certificateWarning, type TlsCertificate } from "./model/tlsCertificate.js";
import { createRegistry } from "./policy/registry.js";
import { assertRegistryReadable } from "./policy/source.js";
import { assertNodesUsable, confirmNodes } from "./preflight/startCheck.js";
import { type Relay, startRelay } from "./relay.js";
import { reportCrypto } from "./signing/reportCrypto.js";
import { countSubmissions } from "./store/chains.js";
import { createTokenStore } from "./store/keys/tokenStore.js";
import { type OpenStore, openStore } from "./store/store.js";
import { onAbort } from "./util/onAbort.js";

/** The time that the last result lines have to reach their clients when the service closes, in ms. */
const LAST_LINES_MS = 500;

/** The longest answer of a node to the replay of a revert. A contract can return a lot. */
const MAX_REPLAY_BYTES = 1_048_576;

/** The warning of a service behind a proxy that it does not know. */
const NAMELESS_PROXY =
  "behindProxy is set without trustedProxies (--trusted-proxies): all clients of the proxy count as one address, and share its connections (maxAddressConnections), its attempts at unknown keys and its refusals; name the proxy's address there";

/** The running service. */
export interface Server {
  /** The number of submissions that the store already held at the start; 1,001 for more than a thousand. */
  readonly earlierSubmissions: number;
  /** @throws {@link StartError} if the port is not available, or if other machines could reach it without TLS. */
  listen(address: ListenAddress): Promise<{ url: string; port: number }>;
  /** Opens `GET /metrics` for Prometheus, and the probes `/livez` and `/readyz`, on a port of their own (D24). */
  listenMetrics(address: ListenAddress): Promise<{ url: string; port: number }>;
  /**
   * Opens the operators' API on a port of its own (D25).
   * @throws {@link StartError} without `adminTokens`.
   */
  listenAdmin(address: ListenAddress): Promise<{ url: string; port: number }>;
  /**
   * Starts the lanes of new waivers, and stops those of waivers that are gone.
   * @throws {@link InvalidOptionsError} if the list is empty or not valid. Then nothing changes.
   */
  setWaivers(accounts: readonly WaiverAccount[]): Promise<void>;
  /**
   * Uses another certificate for new connections; those that are open go on.
   * @throws {@link InvalidOptionsError} if it is not valid, or if the service started without one. Then nothing changes.
   */
  setCertificate(tls: TlsCertificate): void;
  /**
   * Takes a devnet back on purpose, as to a snapshot: the lanes rest while `goBack` does so, what is not on the chain any more
   * fails and may be sent again, and the lanes begin at the chain's nonces. Only with `newChain: "adopt"`, because on any other
   * chain nothing but final blocks may undo what was told (D28).
   * @param goBack resolves to false if it has changed nothing.
   * @returns the result of `goBack`.
   * @throws an error without that option, or what `goBack` throws.
   */
  rewind(goBack: () => Promise<boolean>): Promise<boolean>;
  /**
   * Reads the policies from the chain's registry now. A service that follows the registry does so by itself, a moment after a
   * change. Resolves also if no node answers.
   */
  rereadPolicies(): Promise<void>;
  /**
   * Is not ready any more, and serves for `shutdownDelayMs`. Then it accepts nothing more, waits for the open lines, finishes
   * what is signed, releases the lanes, answers the lines that are still open, and closes the store: within `shutdownMs` and a
   * moment. Further calls resolve with the first one.
   */
  close(): Promise<void>;
}

/**
 * Builds the submission service, each part once, in this order: store, keys, chain, relay (lanes and intake), HTTP. The
 * lanes work from then on; `listen` opens the port.
 * @param signal aborts the start at the next point where that is safe.
 * @throws {@link InvalidOptionsError} with every problem, or {@link StartError} with one sentence.
 * @example
 * ```ts
 * const server = await createServer({
 *   chainId: 2201,
 *   rpcUrl: "http://127.0.0.1:8545",
 *   waivers: [privateKeyWaiver(waiverKey)],
 *   apiKeys: [],
 *   dataDir: ".gas-waiver",
 * });
 * const { url } = await server.listen({ host: "127.0.0.1", port: 8080 });
 * ```
 */
export async function createServer(
  given: ServerOptions,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<Server> {
  const options = resolveOptions(given);
  const log = createLog(options.logLevel);
  reportCrypto(await useNativeCrypto(), log);
  const store = await openStore(options, log, signal);
  const ending = new AbortController();
  const leaving = new AbortController();
  let keys: KeyDirectory | undefined;
  try {
    signal?.throwIfAborted();
    const { queueCapacity } = options;
    keys = await openKeyDirectory({ store, log, limits: limitsOfService(options), queueCapacity });
    const configuredKeys = await identifyKeys(store, [...options.apiKeys, ...options.publicApiKeys]);
    if (configuredKeys.length === 0 && keys.size === 0) log.warn("there is no API key: nobody can submit");
    const adminTokens = await identifyTokens(store, options.adminTokens);
    await recordSecretsRead(store, { waivers: options.waivers, configuredKeys, adminTokens });
    return await build({ options, store, log, keys, configuredKeys, adminTokens, ending, leaving });
  } catch (error) {
    ending.abort();
    keys?.close();
    await store.close();
    throw error;
  }
}

/** The parts that are built before the first call to a node. */
interface Foundations {
  readonly options: ResolvedOptions;
  readonly store: OpenStore;
  readonly log: Logger;
  readonly keys: KeyDirectory;
  readonly configuredKeys: readonly ConfiguredKey[];
  readonly adminTokens: readonly IdentifiedToken[];
  /** Aborts every call that leaves this process. */
  readonly ending: AbortController;
  /** Aborted when the service begins to shut down. */
  readonly leaving: AbortController;
}

/** The running parts, from which the handle of the service is made. */
interface ServiceParts extends Foundations {
  readonly chain: NodeClient;
  /** The nodes, over connections of the gateway alone. */
  readonly gatewayRpc: Rpc;
  readonly served: ServedChain;
  readonly relay: Relay;
  /** The watch of the nodes' heads, which ends with `ending`. */
  readonly watch: Promise<void>;
  readonly readiness: ReadinessProbe;
  readonly failures: FailedAuthentications;
  /** Writes the failed authentications to the audit. */
  readonly failureAudit: ReturnType<typeof startAuditingFailures>;
}

async function build(foundations: Foundations): Promise<Server> {
  const { options, store, log, ending } = foundations;
  const { signal } = ending;
  const heads = new EndpointHeads(options.rpcUrls.length);
  const rpc = createRpc({ ...options, signal, heads });
  const chain = createNodeClient(rpc);
  // A call of a wallet on which a node hangs makes no node rest for the lanes.
  const gatewayRpc = createRpc({ ...options, signal, heads, maxResponseBytes: options.gatewayAnswerBytes });
  const replayRpc = createRpc({ ...options, signal, heads, maxResponseBytes: MAX_REPLAY_BYTES });
  const registry = options.policySource === "config" ? undefined : createRegistry(rpc);
  const earlierSubmissions = await countSubmissions(store);
  const served = await findServedChain({ chain, store, options });
  if (served.confirmed) await assertNodesUsable(options, log, signal);
  if (served.confirmed && registry) {
    await assertRegistryReadable(
      registry,
      options.waivers.map(({ address }) => address),
    );
  }
  const isServedBy = async (client: NodeClient) =>
    (await findChainDifference(client, served, store)) === undefined;
  const watch = watchEndpoints({ ...options, isServedBy, heads, log, signal });
  const { chainRef } = served;
  const relay = await startRelay({ ...foundations, chain, replayRpc, heads, registry, chainRef, signal });
  const readiness = observeReadiness({ ...foundations, relay, heads, leaving: foundations.leaving.signal });
  const failures = new FailedAuthentications({ log, metrics: relay.metrics });
  const failureAudit = startAuditingFailures({ store, failures, log });
  const parts: ServiceParts = {
    ...foundations,
    ...{ chain, gatewayRpc, served, relay, watch, readiness, failures, failureAudit },
  };
  addNodeGauges(relay.metrics, () => nodeStatuses(options.rpcUrls, heads));
  const lanes = await beginLanes(parts);
  const version = await readVersion();
  if (options.tls) warnOfCertificate(options.tls, log);
  if (options.behindProxy && options.trustedProxies.length === 0) log.warn(NAMELESS_PROXY);
  const apps = createApps(parts, version);
  log.info({ crypto: crypto.name, chainId: options.chainId, version }, "the service is built");
  let closed: Promise<void> | undefined;
  return {
    earlierSubmissions,
    listen: (address) => listen(apps.api, address, options),
    listenMetrics: (address) => listen(apps.operators, address, options),
    async listenAdmin(address) {
      if (options.adminTokens.length === 0) throw new StartError("the admin API needs a token");
      return listen(apps.admin, address, options);
    },
    setWaivers: lanes.setWaivers,
    rewind: (goBack) => rewind(parts, lanes.started, goBack),
    rereadPolicies: relay.policies.reread,
    setCertificate: (tls) => replaceCertificates(apps, options, tls, log),
    close() {
      closed ??= shutDown(parts, apps, lanes.started);
      return closed;
    },
  };
}

/** Starts the lanes as soon as the node's chain is confirmed: nothing is sent to a chain that may not be ours. */
async function beginLanes({ options, store, log, chain, served, relay, ending }: ServiceParts) {
  const { signal } = ending;
  let waivers = options.waivers;
  if (served.confirmed) await relay.policies.start();
  const confirmed = served.confirmed
    ? Promise.resolve(true)
    : confirmServedChain({ chain, store, options }, log, signal).then(async (isOurs) => {
        const isUsable = isOurs && (await confirmNodes(options, log, signal));
        if (isUsable) await relay.policies.start();
        return isUsable;
      });
  const start = () => relay.lanes.setWaivers(waivers);
  const started = startLanes({ confirmed, start, log, signal });
  return {
    started,
    async setWaivers(changed: readonly WaiverAccount[]): Promise<void> {
      resolveOptions({ ...options, rpcUrl: options.rpcUrls, waivers: changed });
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

async function rewind(
  { options, relay }: Pick<ServiceParts, "options" | "relay">,
  lanesStarted: Promise<void>,
  goBack: () => Promise<boolean>,
): Promise<boolean> {
  if (options.newChain !== "adopt") throw new Error('only a service with newChain "adopt" can go back');
  await lanesStarted;
  return await relay.rewind(goBack);
}

type Apps = ReturnType<typeof createApps>;

/** The HTTP interfaces: the public one, the metrics and probes, and the admin API. */
function createApps(parts: ServiceParts, version: string) {
  const {
    options,
    store,
    log,
    keys,
    configuredKeys,
    adminTokens,
    failures,
    chain,
    gatewayRpc,
    served,
    relay,
    readiness,
    leaving,
  } = parts;
  const { intake, metrics, policies, broadcastBuffer, revertCauses, blockEvents } = relay;
  const { chainRef } = served;
  const reading = store.forRole("reading");
  const checker = createChecker({
    ...{ store: reading, chain, options, policies, chainRef },
    isShuttingDown: () => intake.isStopping,
  });
  const policy = { store: reading, options, policies: () => policies.current(), waivers: relay.waivers };
  const health = { status: "ok", version, chainId: options.chainId } as const;
  const tokenStore = createTokenStore(store.forRole("accepting"));
  const shared = {
    store: reading,
    tokenStore,
    options,
    log,
    keys,
    configuredKeys,
    failures,
    chainRef,
    intake,
    metrics,
    broadcastBuffer,
    revertCauses,
  };
  return {
    api: createApp({
      ...shared,
      health,
      readiness,
      policy,
      checker,
      gatewayRpc,
      blockEvents,
      leaving: leaving.signal,
    }),
    operators: createOperatorsApp({ metrics, log, health, readiness, options }),
    admin: createAdminApp({
      ...{ log, failures, metrics, options },
      keys: createKeyAdmin(store),
      tokens: adminTokens,
      clientAddress: createClientAddress(options),
    }),
  };
}

function warnOfCertificate({ cert }: TlsCertificate, log: Logger): void {
  const warning = certificateWarning(cert, Date.now());
  if (warning !== undefined) log.warn(warning);
}

/** @throws {@link InvalidOptionsError} */
function replaceCertificates(apps: Apps, options: ResolvedOptions, tls: TlsCertificate, log: Logger): void {
  const problems = options.tls === undefined ? ["the service started without TLS"] : certificateProblems(tls);
  if (problems.length > 0) throw new InvalidOptionsError(problems);
  warnOfCertificate(tls, log);
  for (const { server } of Object.values(apps)) replaceCertificate(server, tls);
}

/** Ends the service in the order of {@link Server.close}. */
async function shutDown(
  { options, store, keys, served, relay, ending, leaving, watch, readiness, failureAudit }: ServiceParts,
  apps: Apps,
  lanesStarted: Promise<void>,
): Promise<void> {
  leaving.abort();
  if (options.shutdownDelayMs > 0) await sleep(options.shutdownDelayMs);
  relay.intake.stopAccepting();
  // A request on one of these would be refused; on a new connection it can reach another replica.
  apps.api.server.closeIdleConnections();
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
  // The last lines need a moment, and a client that sends its request slowly would delay the end for a minute.
  const cut = setTimeout(() => {
    for (const { server } of Object.values(apps)) server.closeAllConnections();
  }, LAST_LINES_MS);
  await Promise.all(Object.values(apps).map((app) => app.close()));
  clearTimeout(cut);
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

async function readVersion(): Promise<string> {
  const text = await readFile(new URL("../package.json", import.meta.url), "utf8");
  const { version } = JSON.parse(text) as { version: string };
  return version;
}
