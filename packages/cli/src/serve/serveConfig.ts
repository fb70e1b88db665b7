import type { ConfigFile, FileNetwork } from "../settings/configFile.js";
import { text } from "../settings/parsers.js";
import {
  type Environment,
  resolveSettings,
  type SettingsReading,
  UsageError,
} from "../settings/readSettings.js";
import { type Setting, type Settings, splitValues, type Values } from "../settings/setting.js";
import { placeIn, type Source } from "../settings/source.js";
import { type CustodyValues, splitCustody } from "../waivers/custodies.js";
import { usualSchema } from "./networkSchema.js";
import { CONFIG_SETTING, NETWORK_PLACE } from "./serveFile.js";
import {
  NETWORK_RULES,
  NETWORK_SETTINGS,
  type NetworkValues,
  SERVE_RULES,
  SERVE_SETTINGS,
  SHARED_RULES,
  SHARED_SETTINGS,
  type SharedValues,
} from "./serveSettings.js";

/** The flags and variables of a service that has one network, and the file that holds its settings. */
export const SERVE_COMMAND_SETTINGS = { config: CONFIG_SETTING, ...SERVE_SETTINGS } as const;

const SHARED_COMMAND_SETTINGS = { config: CONFIG_SETTING, ...SHARED_SETTINGS } as const;
const ENTRY_SETTINGS = { ...NETWORK_PLACE, ...NETWORK_SETTINGS } as const;

/** The flags and variables of networks, which do not say what network they are for when there are several. */
const MISPLACED: Settings = Object.fromEntries(
  Object.entries<Setting<unknown>>(NETWORK_SETTINGS).map(
    ([key, { required: _, defaultValue: __, ...setting }]) => [key, { ...setting, parse: text }],
  ),
);

/** One network of the service. */
export interface NetworkConfig {
  /** Undefined for the one network of a file without a list of networks, which has no place of its own. */
  readonly place: Values<typeof NETWORK_PLACE> | undefined;
  /** Those of custody are apart: a reload takes them over on their own. */
  readonly values: Omit<NetworkValues, keyof CustodyValues>;
  readonly custody: CustodyValues;
  readonly sources: ReadonlyMap<string, Source>;
}

/** The settings of a service, with the places that they came from. */
export interface ServeConfig {
  /** The path of the configuration file, if one was named. */
  readonly file: string | undefined;
  readonly shared: SharedValues;
  readonly sources: ReadonlyMap<string, Source>;
  /** At least one. */
  readonly networks: readonly NetworkConfig[];
}

/** The settings of a service as far as they can be read. */
export interface ServeReading {
  /** Settings that are wrong are absent from its values. */
  readonly config: ServeConfig;
  readonly problems: readonly string[];
  /** The values of the command's settings beside those of the service. */
  readonly others: Readonly<Record<string, unknown>>;
}

/**
 * Reads the settings of a service from the arguments, the environment and the configuration file.
 * @throws {@link UsageError} with every problem.
 */
export function readServeConfig(
  argv: readonly string[],
  env: Environment,
  others: Settings = {},
): Omit<ServeReading, "problems"> {
  const { problems, ...reading } = resolveServeConfig(argv, env, others);
  if (problems.length > 0) throw new UsageError(problems);
  return reading;
}

/** Reads the settings as {@link readServeConfig} does, and goes on after problems. */
export function resolveServeConfig(
  argv: readonly string[],
  env: Environment,
  others: Settings = {},
): ServeReading {
  const alone = resolveSettings({ ...SERVE_COMMAND_SETTINGS, ...others }, SERVE_RULES, { argv, env });
  const file = alone.values.config as ConfigFile | undefined;
  if (file?.networks !== undefined) return severalNetworks(file, file.networks, { argv, env, others });
  const { sources, problems } = alone;
  const [shared] = splitValues(SHARED_SETTINGS, alone.values);
  return {
    config: { file: file?.path, shared, sources, networks: [networkOf(alone, undefined)] },
    problems,
    others: alone.values,
  };
}

function networkOf(
  { values, sources }: { readonly values: object; readonly sources: NetworkConfig["sources"] },
  place: NetworkConfig["place"],
): NetworkConfig {
  const { custody, otherValues } = splitCustody(splitValues(NETWORK_SETTINGS, values)[0]);
  return { place, values: otherValues, custody, sources };
}

interface Given {
  readonly argv: readonly string[];
  readonly env: Environment;
  readonly others: Settings;
}

function severalNetworks(
  file: ConfigFile,
  entries: readonly FileNetwork[],
  { argv, env, others }: Given,
): ServeReading {
  const shared = resolveSettings({ ...SHARED_COMMAND_SETTINGS, ...MISPLACED, ...others }, SHARED_RULES, {
    argv,
    env,
  });
  const misplaced = Object.keys(MISPLACED).flatMap((key) => shared.sources.get(key)?.name ?? []);
  const readings = entries.map(({ values }) =>
    resolveSettings(ENTRY_SETTINGS, NETWORK_RULES, { argv: [], env: {}, file: { path: file.path, values } }),
  );
  const problems = [
    ...shared.problems,
    ...misplaced.map(
      (name) => `${name} is of one network, and ${file.path} has a list of them: give it there`,
    ),
    ...readings.flatMap(({ problems }, i) => withEntry(problems, file.path, entries[i])),
    ...problemsBetween(file.path, entries, readings),
  ];
  const networks = readings.map((reading) =>
    networkOf(reading, splitValues(NETWORK_PLACE, reading.values)[0]),
  );
  const config = {
    file: file.path,
    shared: splitValues(SHARED_SETTINGS, shared.values)[0],
    sources: shared.sources,
    networks,
  };
  return { config, problems, others: shared.values };
}

type EntryReading = SettingsReading<typeof ENTRY_SETTINGS>;

/** Leads problems without a place of their own, such as a missing setting, to their network. */
function withEntry(problems: readonly string[], path: string, entry: FileNetwork | undefined): string[] {
  const place = entry === undefined ? path : placeIn(path, entry);
  return problems.map((problem) => (problem.startsWith(`${path}:`) ? problem : `${place}: ${problem}`));
}

/** Values that no two networks may share. */
const UNIQUE: Readonly<Record<string, (values: EntryReading["values"]) => string | undefined>> = {
  name: ({ name }) => name,
  path: ({ name, path, host }) =>
    host === undefined && name !== undefined ? (path ?? `/${name}`) : undefined,
  host: ({ host }) => host,
  "chain-id": ({ chainId }) => chainId?.toString(),
  schema: ({ name, schema }) => schema ?? (name === undefined ? undefined : usualSchema(name)),
};

function problemsBetween(
  path: string,
  entries: readonly FileNetwork[],
  readings: readonly EntryReading[],
): string[] {
  const problems: string[] = [];
  for (const [key, valueIn] of Object.entries(UNIQUE)) {
    const seen = new Set<string>();
    readings.forEach(({ values }, i) => {
      const value = valueIn(values);
      const entry = entries[i];
      if (value === undefined || entry === undefined) return;
      if (seen.has(value)) problems.push(`${placeIn(path, entry)}: two networks have the ${key} ${value}`);
      seen.add(value);
    });
  }
  readings.forEach(({ values: { path: prefix, host } }, i) => {
    const entry = entries[i];
    if (prefix !== undefined && host !== undefined && entry)
      problems.push(`${placeIn(path, entry)}: path and host are both given: a network has one of them`);
  });
  return problems;
}
