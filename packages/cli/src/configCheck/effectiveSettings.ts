import { usualSchema } from "../serve/networkSchema.js";
import type { ServeConfig } from "../serve/serveConfig.js";
import { NETWORK_PLACE } from "../serve/serveFile.js";
import { NETWORK_SETTINGS, SHARED_SETTINGS } from "../serve/serveSettings.js";
import { fileKeyOf, nameOf, type Settings, type Values } from "../settings/setting.js";
import { placeIn, type Source } from "../settings/source.js";
import { MASK, withoutUrlSecrets } from "../settings/withoutUrlSecrets.js";

/** A setting in force. */
export interface EffectiveSetting {
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
export function effectiveSettings({ shared: _, sources, networks }: ServeConfig): EffectiveSetting[] {
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
export function configLines(settings: readonly EffectiveSetting[]): string[] {
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
