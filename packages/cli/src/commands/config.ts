import { STABLE_NETWORKS } from "@gas-waiver/protocol";
import { type Command, defineCommand } from "../command.js";
import { checkNetwork } from "../configCheck/checkNetwork.js";
import { checkPlaceOfStore, checkPorts, checkTls } from "../configCheck/checkPlace.js";
import { AREAS, type ConfigFinding, linesOf, refusesStart, summaryOf } from "../configCheck/finding.js";
import { CommandFailedError } from "../errorMessage.js";
import { configSchema } from "../serve/configSchema.js";
import { usualSchema } from "../serve/networkSchema.js";
import {
  type NetworkConfig,
  resolveServeConfig,
  SERVE_COMMAND_SETTINGS,
  type ServeConfig,
} from "../serve/serveConfig.js";
import { NETWORK_PLACE } from "../serve/serveFile.js";
import { NETWORK_SETTINGS, SHARED_SETTINGS } from "../serve/serveSettings.js";
import { checksumWarning } from "../settings/checksumWarning.js";
import { UsageError } from "../settings/readSettings.js";
import { fileKeyOf, nameOf, type Settings, type Values } from "../settings/setting.js";
import { placeIn, type Source } from "../settings/source.js";
import { MASK, withoutUrlSecrets } from "../settings/withoutUrlSecrets.js";
import { JSON_SETTING } from "../waivers/waiverSettings.js";

export const check: Command = {
  description:
    "The command takes the settings of serve, names every mistake in them, and tries what can be tried without\n" +
    "sending: the certificate, the ports, the disk, the database, one signature of each custody, the nodes, and the\n" +
    "registration of the waivers. It goes on after mistakes with what is readable, and changes nothing.",
  failure: "serve would refuse to start",
  examples: ["gas-waiver config check --config gas-waiver.yaml"],
  settings: { ...SERVE_COMMAND_SETTINGS, json: JSON_SETTING },
  async run(argv, context) {
    const { config, problems, others } = resolveServeConfig(argv, context.env, { json: JSON_SETTING });
    const settings = problems.map(
      (found): ConfigFinding => ({
        area: "settings",
        subject: "",
        check: "setting",
        verdict: "refuses",
        found,
      }),
    );
    if (problems.length === 0) {
      const found = "all settings can be used";
      settings.push({ area: "settings", subject: "", check: "settings", verdict: "ok", found });
    }
    settings.push(...config.networks.flatMap(checkTargets));
    const findings = [...settings, ...(await findingsOf(config, context))];
    context.signal.throwIfAborted();
    if (others.json) context.print(JSON.stringify({ starts: !refusesStart(findings), findings }));
    else for (const line of findingLines(findings, context.terminal?.columns)) context.print(line);
    if (refusesStart(findings)) throw new CommandFailedError("the service would not start like this");
  },
};

const CHECK_WIDTH = 13;

/** The findings as lines for a person: a group for each area, then one sentence for all. */
function findingLines(findings: readonly ConfigFinding[], width = 120): string[] {
  const groups = AREAS.flatMap((area) => {
    const ofArea = findings.filter((finding) => finding.area === area);
    return ofArea.length === 0 ? [] : [area, ...ofArea.flatMap((finding) => placedLines(finding, width))];
  });
  return [...groups, summaryOf(findings)];
}

function placedLines(finding: ConfigFinding, width: number): string[] {
  const where = [finding.network, finding.subject].filter(Boolean).join(" ");
  const found = where === "" ? finding.found : `${where}: ${finding.found}`;
  return linesOf({ ...finding, found }, CHECK_WIDTH, width);
}

const IDS = new Set(Object.values(STABLE_NETWORKS).map(({ chainId }) => Number(chainId)));

/** Addresses without a checksum, where the chain asks for it (D4). */
function checkTargets({ place, values }: NetworkConfig): ConfigFinding[] {
  const found = checksumWarning(values.allowedTargets);
  if (found === undefined || !IDS.has(values.chainId ?? 0)) return [];
  const network = place?.name === undefined ? {} : { network: place.name };
  return [{ area: "settings", subject: "", check: "checksum", verdict: "warning", found, ...network }];
}

async function findingsOf(
  config: ServeConfig,
  context: Parameters<Command["run"]>[1],
): Promise<ConfigFinding[]> {
  const { shared, networks } = config;
  const [ports, store, ...ofNetworks] = await Promise.all([
    checkPorts(shared),
    checkPlaceOfStore(config),
    ...networks.map((network) => checkNetwork(network, context)),
  ]);
  return [...checkTls(shared), ...ports, ...store, ...ofNetworks.flat()];
}

export const print: Command = {
  description:
    "The command takes the settings of serve and prints each with its value and its origin: default, environment, flag, or\n" +
    "the place in the file. Secrets are masked, and so is what may be secret in a URL.",
  examples: [
    "gas-waiver config print --config gas-waiver.yaml",
    "gas-waiver config print --json | jq '.port'",
  ],
  settings: { ...SERVE_COMMAND_SETTINGS, json: JSON_SETTING },
  async run(argv, context) {
    const { config, problems, others } = resolveServeConfig(argv, context.env, { json: JSON_SETTING });
    if (problems.length > 0) throw new UsageError(problems);
    const settings = effectiveSettings(config);
    if (others.json) {
      const all = settings.map(({ key, ...setting }) => [key, setting]);
      context.print(JSON.stringify(Object.fromEntries(all)));
    } else for (const line of configLines(settings)) context.print(line);
  },
};

export const schema = defineCommand({
  description:
    "Editors complete and check the configuration file by this schema. Name it in the file's first line:\n" +
    "# yaml-language-server: $schema=gas-waiver.schema.json",
  examples: ["gas-waiver config schema >gas-waiver.schema.json"],
  settings: {},
  async run(_values, { print }) {
    print(JSON.stringify(configSchema(), null, 2));
  },
});

/** A setting in force. */
interface EffectiveSetting {
  /** The key in the file; in a file with several networks, behind the network's name. */
  readonly key: string;
  /** The value as a flag would have it, without secrets; null if the setting is not given and has no default. */
  readonly value: string | null;
  /** The place that the value came from: `default`, a flag, a variable, or file, line and column. */
  readonly origin: string;
  /** Whether a running service takes over another value at SIGHUP. */
  readonly reloadable: boolean;
}

/** Lists all settings of a service with their origins. */
function effectiveSettings({ shared: _, sources, networks }: ServeConfig): EffectiveSetting[] {
  const ofNetworks = networks.flatMap(({ place, sources: own }) =>
    place === undefined
      ? settingsOf(NETWORK_SETTINGS, own, "")
      : settingsOf(settingsOfEntry(place), own, `networks.${place.name}.`),
  );
  return [...ofNetworks, ...settingsOf(SHARED_SETTINGS, sources, "")];
}

/** The settings of an entry of `networks`. The defaults of two follow from its name. */
function settingsOfEntry({ name = "", host }: Values<typeof NETWORK_PLACE>): Settings {
  const path = { ...NETWORK_PLACE.path, ...(host === undefined && { defaultText: `/${name}` }) };
  const schema = { ...NETWORK_SETTINGS.schema, defaultText: usualSchema(name) };
  return { ...NETWORK_PLACE, path, ...NETWORK_SETTINGS, schema };
}

function settingsOf(settings: Settings, sources: ReadonlyMap<string, Source>, prefix: string) {
  return Object.entries(settings).map(([name, setting]): EffectiveSetting => {
    const source = sources.get(name);
    const key = `${prefix}${fileKeyOf(setting) ?? nameOf(setting)}`;
    const reloadable = setting.reload !== undefined;
    if (source === undefined) {
      const { defaultValue, defaultText = defaultValue ?? null } = setting;
      return { key, value: defaultText, origin: "default", reloadable };
    }
    const text = typeof source.text === "string" ? source.text : "";
    const value = setting.secret ? MASK : withoutUrlSecrets(text);
    return { key, value, origin: originOf(source), reloadable };
  });
}

function originOf({ origin, name, file, place }: Source): string {
  return origin === "file" && file !== undefined && place ? placeIn(file, place) : name;
}

/** The settings in columns: key, value, origin; those that a running service takes over are marked. */
function configLines(settings: readonly EffectiveSetting[]): string[] {
  const given = settings.map(({ key, value, origin, reloadable }) => ({
    key,
    value: value ?? "-",
    origin: reloadable ? `${origin} (reloadable)` : origin,
  }));
  const width = (column: "key" | "value", most: number) =>
    Math.min(most, Math.max(...given.map((setting) => setting[column].length))) + 2;
  const [keys, values] = [width("key", 60), width("value", 50)];
  return given.map(
    ({ key, value, origin }) => `${key.padEnd(keys - 1)} ${value.padEnd(values - 1)} ${origin}`,
  );
}
