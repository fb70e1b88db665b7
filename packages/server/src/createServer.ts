import { readFile } from "node:fs/promises";
import { useNativeCrypto } from "@gas-waiver/crypto-native";
import { crypto, privateKeyToAddress } from "@gas-waiver/protocol";
import { createAdminApp } from "./admin/app.js";
import { createNodeClient } from "./chain/nodeClient.js";
import { createRpc } from "./chain/rpc.js";
import { confirmServedChain, findServedChain } from "./chain/servedChain.js";
import { createChecker } from "./check/check.js";
import { createReadiness } from "./health/readiness.js";
import { createApp } from "./http/app.js";
import { listen } from "./http/listen.js";
import { createMetricsApp } from "./http/metricsApp.js";
import { type KeyDirectory, openKeyDirectory } from "./keys/directory.js";
import { createKeyAdmin } from "./keys/keyAdmin.js";
import { startLanes } from "./lane/startLanes.js";
import { limitsOfService } from "./model/caller.js";
import { StartError } from "./model/errors.js";
import { createLog } from "./model/log.js";
import { resolveOptions, type ServerOptions } from "./model/options.js";
import { createRegistry } from "./policy/registry.js";
import { assertRegistryReadable } from "./policy/source.js";
import { type RelayParts, startRelay } from "./relay.js";
import { countSubmissions } from "./store/chains.js";
import { openStore } from "./store/store.js";

/** How long the answers of a service that ends may take to reach their clients. */
const LAST_LINES_MS = 500;

/** The running service. */
export interface Server {
  /** How many submissions the store already held at the start. */
  readonly earlierSubmissions: number;
  /** @throws {@link StartError} if the port cannot be had. */
  listen(address: { readonly host: string; readonly port: number }): Promise<{ url: string; port: number }>;
  /** Opens `GET /metrics` for Prometheus on a port of its own. */
  listenMetrics(address: {
    readonly host: string;
    readonly port: number;
  }): Promise<{ url: string; port: number }>;
  /**
   * Opens the operators' API on a port of its own (D25).
   * @throws {@link StartError} without `adminTokens`.
   */
  listenAdmin(address: {
    readonly host: string;
    readonly port: number;
  }): Promise<{ url: string; port: number }>;
  /** Starts the lanes of new waiver keys, and stops those of keys that are gone. */
  setWaiverKeys(keys: readonly Uint8Array[]): Promise<void>;
  /**
   * Takes nothing more, finishes what is signed, hands the lanes over, answers the lines that wait, closes the
   * store: within `shutdownMs` and a moment. Called again, it resolves with the first call.
   */
  close(): Promise<void>;
}

/**
 * Builds the submission service, each part once, in order: store, chain, lanes, intake, HTTP. The lanes work from
 * here on; `listen` opens the door.
 * @param signal gives the start up, as soon as what is under way can be left.
 * @throws InvalidOptionsError with every problem, or {@link StartError} with one sentence.
 */
export async function createServer(
  given: ServerOptions,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<Server> {
  const options = resolveOptions(given);
  const log = createLog(options.logLevel);
  if ((await useNativeCrypto()) !== "native") {
    log.warn(
      "the native cryptography does not load; signatures in pure JavaScript take 10 to 25 times as long",
    );
  }
  const store = await openStore(options, log, signal);
  let keys: KeyDirectory | undefined;
  try {
    signal?.throwIfAborted();
    const { queueCapacity } = options;
    keys = await openKeyDirectory({ store, log, limits: limitsOfService(options), queueCapacity });
    if (options.apiKeys.length === 0 && keys.size === 0) log.warn("there is no API key: nobody can submit");
    return await build({ options, store, log, keys });
  } catch (error) {
    keys?.close();
    await store.close();
    throw error;
  }
}

type Foundations = Pick<RelayParts, "options" | "store" | "log" | "keys">;

async function build({ options, store, log, keys }: Foundations): Promise<Server> {
  const ending = new AbortController();
  const rpc = createRpc({ ...options, signal: ending.signal });
  const chain = createNodeClient(rpc);
  const registry = options.policySource === "config" ? undefined : createRegistry(rpc);
  const earlierSubmissions = await countSubmissions(store);
  const { chainRef, confirmed } = await findServedChain({ chain, store, options });
  if (confirmed && registry)
    await assertRegistryReadable(
      registry,
      options.waiverKeys.map((key) => privateKeyToAddress(key)),
    );
  const relay = await startRelay({ options, store, log, chain, registry, chainRef, keys });
  // Nothing is sent to a chain that may not be ours.
  const confirmation = confirmed
    ? Promise.resolve(true)
    : confirmServedChain({ chain, store, options }, log, ending.signal);
  let waiverKeys = options.waiverKeys;
  if (confirmed) await relay.policies.start();
  const begun = confirmation.then(async (ours) => {
    if (ours && !confirmed) await relay.policies.start();
    return ours;
  });
  const start = () => relay.lanes.setKeys(waiverKeys);
  const started = startLanes({ begun, start, log, signal: ending.signal });
  const version = await readVersion();
  const health = { status: "ok", version, chainId: options.chainId } as const;
  const { intake, metrics } = relay;
  const readiness = createReadiness({
    probeWaivers: () => relay.probeWaivers(),
    probeChain: () => chain.blockNumber(),
    isShuttingDown: () => intake.isStopping,
  });
  const policy = { store, options, policies: () => relay.policies.current(), waivers: () => relay.waivers() };
  const isShuttingDown = () => intake.isStopping;
  const checker = createChecker({
    store,
    chain,
    options,
    policies: relay.policies,
    chainRef,
    isShuttingDown,
  });
  const app = createApp({
    store,
    chainRef,
    intake,
    options,
    health,
    log,
    metrics,
    readiness,
    keys,
    policy,
    checker,
    broadcastBuffer: relay.delivered,
  });
  const metricsApp = createMetricsApp(metrics);
  const adminApp = createAdminApp({ keys: createKeyAdmin(store), tokens: options.adminTokens, log });
  log.info({ crypto: crypto.name, chainId: options.chainId, version }, "the service is built");
  const shutDown = async () => {
    relay.intake.stopAccepting();
    // Calls to a node that does not answer are given up in time; what is signed stays signed.
    const limit = setTimeout(() => ending.abort(), options.shutdownMs);
    if (!confirmed) ending.abort();
    await started;
    await relay.lanes.stop();
    clearTimeout(limit);
    ending.abort();
    relay.intake.endLines();
    // The last lines need a moment; a client that sends its request slowly would hold the end up for a minute.
    const cut = setTimeout(() => app.server.closeAllConnections(), LAST_LINES_MS);
    await Promise.all([app.close(), metricsApp.close(), adminApp.close()]);
    clearTimeout(cut);
    keys.close();
    await relay.close();
    await store.close();
  };
  let closed: Promise<void> | undefined;
  return {
    earlierSubmissions,
    listen: (address) => listen(app, address),
    listenMetrics: (address) => listen(metricsApp, address),
    async listenAdmin(address) {
      if (options.adminTokens.length === 0) throw new StartError("the admin API needs a token");
      return listen(adminApp, address);
    },
    async setWaiverKeys(fresh) {
      resolveOptions({ ...options, rpcUrl: options.rpcUrls, waiverKeys: fresh });
      waiverKeys = fresh;
      await started;
      await relay.lanes.setKeys(fresh);
      relay.policies.refresh();
    },
    close() {
      closed ??= shutDown();
      return closed;
    },
  };
}

async function readVersion(): Promise<string> {
  const text = await readFile(new URL("../package.json", import.meta.url), "utf8");
  const { version } = JSON.parse(text) as { version: string };
  return version;
}
