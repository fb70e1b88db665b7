import { isDeepStrictEqual } from "node:util";
import { DEFAULTS } from "@gas-waiver/server";
import { fileKeyOf, nameOf, type Setting, type Settings } from "../settings/setting.js";
import { CUSTODY_SETTINGS } from "../waivers/custodies.js";
import type { NetworkConfig, ServeConfig } from "./serveConfig.js";
import { NETWORK_PLACE } from "./serveFile.js";
import { NETWORK_SETTINGS, SHARED_SETTINGS } from "./serveSettings.js";

/** A setting of a running service whose value is another one now. */
export interface ChangedSetting {
  /** The key in the file; in a file with several networks, behind the network's name. */
  readonly key: string;
  /** The network, if it is a setting of one. */
  readonly network: string | undefined;
  readonly isOfCustody: boolean;
  readonly needsRestart: boolean;
}

export const networkName = ({ place }: NetworkConfig) => place?.name ?? "";

/** Lists the settings that differ between what is in force and what was read now. Their values may be secret, and stay out. */
export function changedSettings(inForce: ServeConfig, fresh: ServeConfig): ChangedSetting[] {
  const before = new Map(inForce.networks.map((network) => [networkName(network), network]));
  const changed: ChangedSetting[] = [];
  for (const network of fresh.networks) {
    const name = networkName(network);
    const known = before.get(name);
    before.delete(name);
    if (known === undefined) changed.push(listChange(name));
    else changed.push(...changesOfNetwork(name, known, network));
  }
  changed.push(...[...before.keys()].map(listChange));
  changed.push(...changesIn(SHARED_SETTINGS, inForce.shared, fresh.shared));
  return changed;
}

function listChange(network: string): ChangedSetting {
  const key = network === "" ? "networks" : `networks.${network}`;
  return { key, network, isOfCustody: false, needsRestart: true };
}

function changesOfNetwork(network: string, before: NetworkConfig, now: NetworkConfig): ChangedSetting[] {
  const prefix = now.place === undefined ? "" : `networks.${network}.`;
  return [
    ...changesIn(NETWORK_PLACE, before.place ?? {}, now.place ?? {}, network, prefix),
    ...changesIn(NETWORK_SETTINGS, valuesOf(before), valuesOf(now), network, prefix),
  ];
}

const valuesOf = ({ values, custody }: NetworkConfig) => ({ ...values, ...custody });

function changesIn(
  settings: Settings,
  before: Readonly<Record<string, unknown>>,
  now: Readonly<Record<string, unknown>>,
  network?: string,
  prefix = "",
): ChangedSetting[] {
  return Object.entries(settings).flatMap(([name, setting]) => {
    if (isDeepStrictEqual(inUse(name, before), inUse(name, now))) return [];
    const key = `${prefix}${fileKeyOf(setting) ?? nameOf(setting)}`;
    const needsRestart = !takesOver(setting, before[name], now[name]);
    return [{ key, network, isOfCustody: Object.hasOwn(CUSTODY_SETTINGS, name), needsRestart }];
  });
}

/** Tells whether a running service takes over a setting's new value. */
function takesOver({ reload }: Setting<unknown>, before: unknown, now: unknown): boolean {
  return reload === "always" || (reload === "while given" && (before === undefined) === (now === undefined));
}

/** The default counts as given: a setting that is written down with its default has not changed. */
function inUse(name: string, values: Readonly<Record<string, unknown>>): unknown {
  return values[name] ?? (DEFAULTS as Readonly<Record<string, unknown>>)[name];
}

/** Returns the values in force after a reload: those that it takes over are new. */
export function reloadedValues<V extends object>(settings: Settings, before: V, now: V): V {
  const [old, fresh] = [before, now] as unknown as Readonly<Record<string, unknown>>[];
  const entries = Object.entries(settings).map(([name, setting]) => {
    const isFresh = takesOver(setting, old?.[name], fresh?.[name]);
    return [name, isFresh ? fresh?.[name] : old?.[name]];
  });
  return Object.fromEntries(entries) as V;
}
