import { EventEmitter } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { useNativeCrypto } from "@gas-waiver/crypto-native";
import { crypto, type WaiverAccount } from "@gas-waiver/protocol";
import { Registry } from "prom-client";
import { closeApps } from "./http/port/closeApps.js";
import { type ListenAddress, listen } from "./http/port/listen.js";
import { replaceCertificates, warnOfTransport } from "./http/port/transport.js";
import { readVersion } from "./httpApps.js";
import { InvalidOptionsError, StartError } from "./model/errors.js";
import { type NetworksOptions, resolveNetworks, waiversOf } from "./model/options/networkOptions.js";
import type { ReloadableOptions } from "./model/options/reloadableOptions.js";
import type { TlsCertificate } from "./model/options/tlsCertificate.js";
import { createLog, type Logger, setLogLevel } from "./model/telemetry/log.js";
import { createProcessMetrics } from "./model/telemetry/processMetrics.js";
import type { PreparedOptions } from "./network.js";
import { type CheckedOptions, NetworkSlot } from "./networkSlot.js";
import { createNetworksPorts, type NetworksPorts } from "./networksPorts.js";
import { reportCrypto } from "./signing/reportCrypto.js";
import { type Database, openDatabase } from "./store/store.js";
import { onAbort } from "./util/onAbort.js";
import { sleepUnless } from "./util/wakeableTimer.js";

/** A network of a running service. */
export interface NetworkState {
  readonly name: string;
  readonly chainId: number;
  /** The beginning of its paths; undefined if only hosts lead to it. */
  readonly path: string | undefined;
  readonly hosts: readonly string[];
  /** The reason why the network does not run; undefined if it runs. It is tried again. */
  readonly trouble: string | undefined;
  /** The number of submissions that the store already held at the start; 1,001 for more than a thousand, undefined if the network does not run. */
  readonly earlierSubmissions: number | undefined;
}

/** The running service with several networks. The ports are those of a service with one. */
export interface NetworksServer {
  /** The networks, in the order of the options. */
  readonly networks: readonly NetworkState[];
  /** @throws {@link StartError} if the port is not available, or if other machines could reach it without TLS. */
  listen(address: ListenAddress): Promise<{ url: string; port: number }>;
  /** Opens `GET /metrics` with all networks, and the probes `/livez` and `/readyz`. A network's own are behind its name. */
  listenMetrics(address: ListenAddress): Promise<{ url: string; port: number }>;
  /**
   * Opens the operators' API, where a network's routes are behind its name.
   * @throws {@link StartError} without `adminTokens`.
   */
  listenAdmin(address: ListenAddress): Promise<{ url: string; port: number }>;
  /**
   * Starts the lanes of a network's new waivers, and stops those of waivers that are gone.
   * @throws {@link InvalidOptionsError} if the list is empty or not valid, or if there is no such network. Then nothing changes.
   */
  setWaivers(network: string, accounts: readonly WaiverAccount[]): Promise<void>;
  /**
   * Changes options of a network while it runs, or before it is tried again: those of {@link ReloadableOptions}. Those that are
   * absent get their defaults, but for those of the process: the admin tokens and the lowest level of the log, which counts for all.
   * @throws {@link InvalidOptionsError} with every problem, or the store's error. Then nothing changes.
   */
  setOptions(network: string, changed: ReloadableOptions): Promise<void>;
  /**
   * Changes options of several networks, by their names, as {@link setOptions} does: of all, or of none.
   * @throws {@link InvalidOptionsError} with every problem of all networks, or the error of one's store. Then nothing changes.
   */
  setOptionsOfAll(changed: Readonly<Record<string, ReloadableOptions>>): Promise<void>;
  /** Calls the listener with the name of a network whose waivers an operator asks all replicas to read again. */
  onReloadRequested(listener: (network: string) => void): void;
  /**
   * Uses another certificate for new connections; those that are open go on.
   * @throws {@link InvalidOptionsError} if it is not valid, or if the service started without one. Then nothing changes.
   */
  setCertificate(tls: TlsCertificate): void;
  /** Ends all networks at the same time, as a service with one network ends. Further calls resolve with the first one. */
  close(): Promise<void>;
}

/** Builds the service as `createNetworks` describes. */
export async function buildNetworks(
  given: NetworksOptions,
  signal: AbortSignal | undefined,
): Promise<NetworksServer> {
  const networks = resolveNetworks(given);
  const { options } = networks[0] as (typeof networks)[0];
  const log = createLog(options.logLevel);
  reportCrypto(await useNativeCrypto(), log);
  warnOfTransport(options, log);
  const version = await readVersion();
  const database = await openDatabase(options, log, signal, networks.length);
  const leaving = new AbortController();
  const registry = new Registry();
  const metrics = createProcessMetrics(registry);
  const reloadRequests = new EventEmitter<{ request: [network: string] }>().setMaxListeners(0);
  const onReloadRequested = (network: string) => void reloadRequests.emit("request", network);
  const slots = networks.map((network) => {
    const { name } = network;
    const labels = { name, chainId: network.options.chainId, process: metrics };
    const ofNetwork = log.child({ network: name });
    return new NetworkSlot({
      network,
      database,
      version,
      log: ofNetwork,
      labels,
      leaving: leaving.signal,
      onReloadRequested,
    });
  });
  const built = createNetworksPorts({ slots, log, version, metrics, registry, leaving: leaving.signal });
  const service: Service = { slots, database, ...built, leaving, reloadRequests };
  await firstAttempts(slots, built.ports, signal);
  if (signal?.aborted || slots.every(({ running }) => running === undefined)) {
    await shutDown(service, 0);
    signal?.throwIfAborted();
    throw new StartError(
      `no network can start: ${slots.map(({ place, trouble }) => `${place.name}: ${trouble}`).join("; ")}`,
    );
  }
  log.info(
    { crypto: crypto.name, networks: networks.map(({ name }) => name), version },
    "the service is built",
  );
  return serverOf(service, { options, log });
}

/** The time that networks have for their start while another one runs already. */
const START_MS = 3_000;

/**
 * Tries to start all networks at the same time, and goes on with those that fail. Resolves when each runs or has failed. Once one
 * runs, it waits for the others for {@link START_MS} at most: a start may hang, as behind a lock in the database, and must not keep
 * the ports closed, nor the others from being tried again.
 */
async function firstAttempts(
  slots: readonly NetworkSlot[],
  ports: NetworksPorts["ports"],
  signal: AbortSignal | undefined,
): Promise<void> {
  const isOver = new AbortController();
  const attempts = slots.map((slot) => slot.start(ports));
  const all = Promise.all(attempts);
  const running = slots.map(async (slot) => {
    await slot.keepTrying();
    if (slot.running === undefined) throw new Error("the network does not run");
  });
  const oneForLong = Promise.any(running).then(
    () => sleepUnless(START_MS, isOver.signal),
    () => all,
  );
  const aborted = new Promise<void>((resolve) => {
    if (signal) onAbort(signal, resolve);
  });
  await Promise.race([all, oneForLong, aborted]);
  isOver.abort();
}

interface Service extends NetworksPorts {
  readonly slots: readonly NetworkSlot[];
  readonly database: Database;
  readonly leaving: AbortController;
  readonly reloadRequests: EventEmitter<{ request: [network: string] }>;
}

function serverOf(
  service: Service,
  {
    options,
    log,
  }: { readonly options: NetworkSlot["place"]["options"]; readonly log: ReturnType<typeof createLog> },
): NetworksServer {
  const { slots, apps, reloadRequests } = service;
  let closed: Promise<void> | undefined;
  return {
    get networks() {
      return slots.map(stateOf);
    },
    listen: (address) => listen(apps.api, address, options),
    listenMetrics: (address) => listen(apps.operators, address, options),
    async listenAdmin(address) {
      if (options.adminTokens.length === 0) throw new StartError("the admin API needs a token");
      return listen(apps.admin, address, options);
    },
    setWaivers: (network, accounts) => setWaivers(slots, network, accounts),
    setOptions: (network, changed) => setOptionsOfAll(slots, { [network]: changed }, log),
    setOptionsOfAll: (changed) => setOptionsOfAll(slots, changed, log),
    onReloadRequested: (listener) => void reloadRequests.on("request", listener),
    setCertificate: (tls) => replaceCertificates(Object.values(apps), options, tls, log),
    close() {
      closed ??= shutDown(service, options.shutdownDelayMs);
      return closed;
    },
  };
}

function stateOf({ place, trouble, running }: NetworkSlot): NetworkState {
  const { name, path, hosts, options } = place;
  const earlierSubmissions = running?.network.parts.earlierSubmissions;
  return { name, chainId: options.chainId, path, hosts, trouble, earlierSubmissions };
}

/** @throws {@link InvalidOptionsError} if there is no such network. */
function slotOf(slots: readonly NetworkSlot[], name: string): NetworkSlot {
  const slot = slots.find(({ place }) => place.name === name);
  if (slot === undefined) throw new InvalidOptionsError([`there is no network ${name}`]);
  return slot;
}

/** Checks the options of all these networks, prepares all, and only then changes any. */
async function setOptionsOfAll(
  slots: readonly NetworkSlot[],
  changedByName: Readonly<Record<string, ReloadableOptions>>,
  log: Logger,
): Promise<void> {
  const problems: string[] = [];
  const checked: { readonly slot: NetworkSlot; readonly options: CheckedOptions }[] = [];
  for (const [name, changed] of Object.entries(changedByName)) {
    try {
      const slot = slotOf(slots, name);
      checked.push({ slot, options: slot.checkOptions(changed) });
    } catch (error) {
      if (!(error instanceof InvalidOptionsError)) throw error;
      problems.push(...error.problems);
    }
  }
  if (problems.length > 0) throw new InvalidOptionsError([...new Set(problems)]);
  const prepared: PreparedOptions[] = [];
  for (const { slot, options } of checked) prepared.push(await slot.prepareOptions(options));
  const logLevel = checked.at(-1)?.options.resolved.logLevel;
  if (logLevel !== undefined) setLogLevel(log, logLevel);
  await Promise.all(prepared.map((apply) => apply()));
}

/** @throws {@link InvalidOptionsError} */
async function setWaivers(
  slots: readonly NetworkSlot[],
  name: string,
  accounts: readonly WaiverAccount[],
): Promise<void> {
  const slot = slotOf(slots, name);
  const { chainId } = slot.place.options;
  const changed = new Set(waiversOf(chainId, accounts));
  const others = slots.filter((other) => other !== slot && other.place.options.chainId === chainId);
  const taken = others
    .flatMap((other) => waiversOf(chainId, other.waivers))
    .filter((waiver) => changed.has(waiver));
  if (taken.length > 0)
    throw new InvalidOptionsError(taken.map((waiver) => `another network has the waiver ${waiver}`));
  await slot.setWaivers(accounts);
}

/** Ends the networks as one service ends, all at the same time. */
async function shutDown({ slots, database, apps, leaving }: Service, delayMs: number): Promise<void> {
  leaving.abort();
  if (delayMs > 0) await sleep(delayMs);
  const drained = Promise.all(slots.map((slot) => slot.drain()));
  // A request on one of these would be refused; on a new connection it can reach another replica.
  apps.api.server.closeIdleConnections();
  await drained;
  await Promise.all([...slots.map((slot) => slot.closeApps()), closeApps(Object.values(apps))]);
  await Promise.all(slots.map((slot) => slot.close()));
  await database.stop();
}
