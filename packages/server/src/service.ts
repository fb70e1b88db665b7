import { EventEmitter } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { useNativeCrypto } from "@gas-waiver/crypto-native";
import { crypto, type WaiverAccount } from "@gas-waiver/protocol";
import { Registry } from "prom-client";
import { closeApps, type ListenAddress, listen } from "./http/port/listen.js";
import { warnOfTransport } from "./http/port/tls.js";
import { InvalidOptionsError, StartError } from "./model/errors.js";
import { type NetworksOptions, resolveNetworks, waiversOf } from "./model/options/networkOptions.js";
import type { ResolvedOptions } from "./model/options/options.js";
import type { ReloadableOptions } from "./model/options/reloadableOptions.js";
import type { TlsCertificate } from "./model/options/tlsCertificate.js";
import { PATIENCE, type Patience } from "./model/patience.js";
import { createLog, type Logger, setLogLevel } from "./model/telemetry/log.js";
import type { PreparedOptions } from "./network.js";
import { type CheckedOptions, NetworkSlot, type PortsOfApps, readVersion } from "./networkSlot.js";
import { createPorts, type Ports } from "./ports.js";
import { reportCrypto } from "./signing/reportCrypto.js";
import { type Database, openDatabase } from "./store/store.js";
import { LoopQueue } from "./util/loopQueue.js";
import { onAbort } from "./util/onAbort.js";
import { sleepUnless } from "./util/wakeableTimer.js";

/** The ports of a running service, and its end. */
export interface ServicePorts {
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
   * Uses another certificate for new connections; those that are open go on.
   * @throws {@link InvalidOptionsError} if it is not valid, or if the service started without one. Then nothing changes.
   */
  setCertificate(tls: TlsCertificate): void;
  /**
   * Shows in the metrics and logs why a reload of settings or keys was refused; without a reason, that it was not.
   * @param news what the reload has changed, as sentences for the log.
   */
  noteReload(problems: readonly string[], news?: readonly string[]): void;
  /**
   * Is not ready any more, and serves for `shutdownDelayMs`. Then it accepts nothing more, waits for the open lines, finishes
   * what is signed, releases the lanes, answers the lines that are still open, and closes the store: within `shutdownMs` and a
   * moment. Further calls resolve with the first one.
   */
  close(): Promise<void>;
}

/** A network of a running service. */
export interface NetworkState {
  /** Empty for a network without a name. */
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

/**
 * The running service with several networks. On the operators' ports, the metrics of all networks are on one page, and a
 * network's own metrics, probes and admin API are behind its name.
 */
export interface NetworksServer extends ServicePorts {
  /** The networks, in the order of the options. */
  readonly networks: readonly NetworkState[];
  /**
   * Starts the lanes of a network's new waivers, and stops those of waivers that are gone.
   * @throws {@link InvalidOptionsError} if the list is empty or not valid, or if there is no such network. Then nothing changes.
   */
  setWaivers(network: string, accounts: readonly WaiverAccount[]): Promise<void>;
  /**
   * Changes the {@link ReloadableOptions} of a network while it runs, or before its next start. Absent options get their
   * defaults, but for the options of the process: the admin tokens and the lowest level of the log, which holds for all
   * networks.
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
}

/** A service that starts or runs: its networks, and what they share. */
interface Service {
  /** The options of the process, which all networks share. */
  readonly options: ResolvedOptions;
  readonly slots: readonly NetworkSlot[];
  readonly database: Database;
  readonly ports: Ports;
  readonly log: Logger;
  readonly leaving: AbortController;
  readonly reloadRequests: EventEmitter<{ request: [network: string] }>;
}

/**
 * Builds a service as `createServer` and `createNetworks` describe: the database, the ports, and a slot for each network, in
 * which the network starts.
 */
export async function openService(
  given: NetworksOptions,
  signal: AbortSignal | undefined,
  patience: Patience = PATIENCE,
) {
  const networks = resolveNetworks(given);
  const [{ options, isAlone }] = networks;
  const log = createLog(options.logLevel);
  reportCrypto(await useNativeCrypto(), log);
  warnOfTransport(options, log);
  const version = await readVersion();
  const database = await openDatabase(options, log, signal, networks.length);
  const leaving = new AbortController();
  const reloadRequests = new EventEmitter<{ request: [network: string] }>().setMaxListeners(0);
  const shared = {
    ...{ database, version, log, registry: new Registry(), loop: new LoopQueue() },
    ...{ leaving: leaving.signal, patience },
  };
  const onReloadRequested = (network: string) => void reloadRequests.emit("request", network);
  const slots = networks.map((network) => new NetworkSlot({ ...shared, network, onReloadRequested }));
  const ports = createPorts({ ...shared, options, slots });
  const service: Service = { options, slots, database, ports, log, leaving, reloadRequests };
  try {
    await startNetworks(service, signal);
  } catch (error) {
    await shutDown(service, 0);
    throw error;
  }
  const served = isAlone ? { chainId: options.chainId } : { networks: networks.map(({ name }) => name) };
  log.info({ crypto: crypto.name, ...served, version }, "the service is built");
  return { server: serverOf(service), slots };
}

/** @throws the reason why a network that is alone cannot start, {@link StartError} if none of several can, or the signal's reason. */
async function startNetworks({ slots, ports }: Service, signal: AbortSignal | undefined): Promise<void> {
  const [first] = slots;
  const isAlone = first?.place.isAlone;
  const started = isAlone ? first.start(ports.shared) : startSeveral(slots, ports.shared);
  await Promise.race([started, new Promise<void>((resolve) => signal && onAbort(signal, resolve))]);
  signal?.throwIfAborted();
  if (slots.some(({ running }) => running !== undefined)) return;
  throw new StartError(
    `no network can start: ${slots.map(({ place, trouble }) => `${place.name}: ${trouble}`).join("; ")}`,
  );
}

/** The time that networks have for their start while another one runs already. */
const START_MS = 3_000;

/**
 * Tries to start all networks at the same time, and goes on with those that fail. Resolves when each runs or has failed. Once one
 * runs, it waits for the others for {@link START_MS} at most: a start may hang, as behind a lock in the database, and must not keep
 * the ports closed, nor the others from being tried again.
 */
async function startSeveral(slots: readonly NetworkSlot[], ports: PortsOfApps): Promise<void> {
  const isOver = new AbortController();
  const all = Promise.all(slots.map((slot) => slot.tryToStart(ports)));
  const running = slots.map(async (slot) => {
    await slot.keepTrying();
    if (slot.running === undefined) throw new Error("the network does not run");
  });
  const oneForLong = Promise.any(running).then(
    () => sleepUnless(START_MS, isOver.signal),
    () => all,
  );
  await Promise.race([all, oneForLong]);
  isOver.abort();
}

function serverOf(service: Service): NetworksServer {
  const { options, slots, log, reloadRequests } = service;
  const { apps } = service.ports;
  let closed: Promise<void> | undefined;
  return {
    get networks() {
      return slots.map(stateOf);
    },
    listen: (address) => listen(apps.api, address, options),
    listenMetrics: (address) => listen(apps.operators, address, options),
    async listenAdmin(address) {
      if (slots.every(({ hasAdminTokens }) => !hasAdminTokens))
        throw new StartError("the admin API needs a token");
      return listen(apps.admin, address, options);
    },
    setWaivers: (network, accounts) => setWaivers(slots, network, accounts),
    setOptions: (network, changed) => setOptionsOfAll(slots, { [network]: changed }, log),
    setOptionsOfAll: (changed) => setOptionsOfAll(slots, changed, log),
    onReloadRequested: (listener) => void reloadRequests.on("request", listener),
    setCertificate: service.ports.setCertificate,
    noteReload: service.ports.noteReload,
    close() {
      closed ??= shutDown(service, options.shutdownDelayMs);
      return closed;
    },
  };
}

function stateOf({ place, trouble, running }: NetworkSlot): NetworkState {
  const { name, path, hosts, options } = place;
  const earlierSubmissions = running?.parts.earlierSubmissions;
  return { name, chainId: options.chainId, path, hosts, trouble, earlierSubmissions };
}

/** Ends all networks at the same time, in the order of {@link ServicePorts.close}. */
async function shutDown({ slots, database, ports, leaving }: Service, delayMs: number): Promise<void> {
  const { apps } = ports;
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

/** @throws {@link InvalidOptionsError} if there is no such network. */
function slotOf(slots: readonly NetworkSlot[], name: string): NetworkSlot {
  const slot = slots.find(({ place }) => place.name === name);
  if (slot === undefined) throw new InvalidOptionsError([`there is no network ${name}`]);
  return slot;
}

/** Checks the options of all these networks, prepares all, and only then changes any. */
export async function setOptionsOfAll(
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

/** Changes the waivers of one network. @throws {@link InvalidOptionsError} if another network of its chain has one of them. */
export async function setWaivers(
  slots: readonly NetworkSlot[],
  name: string,
  accounts: readonly WaiverAccount[],
): Promise<void> {
  const slot = slotOf(slots, name);
  const { chainId } = slot.place.options;
  const others = slots.filter((other) => other !== slot && other.place.options.chainId === chainId);
  const changed = new Set(others.length > 0 ? waiversOf(chainId, accounts) : []);
  const taken = others
    .flatMap((other) => waiversOf(chainId, other.waivers))
    .filter((waiver) => changed.has(waiver));
  if (taken.length > 0)
    throw new InvalidOptionsError(taken.map((waiver) => `another network has the waiver ${waiver}`));
  await slot.setWaivers(accounts);
}
