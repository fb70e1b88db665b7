import { checkDatabase, connectionsOf, type StoreConnections } from "@gas-waiver/server";
import { usualSchema } from "../serve/networkSchema.js";
import type { NetworkConfig, ServeConfig } from "../serve/serveConfig.js";
import { checkDisk } from "./checkPlace.js";
import type { ConfigFinding } from "./finding.js";
import { unusableSettings } from "./unusableSettings.js";

/** Checks the database with the schema of each network, and the disk of an embedded one. */
export async function checkPlaceOfStore({
  shared,
  sources,
  networks,
}: ServeConfig): Promise<ConfigFinding[]> {
  const [unusable] = unusableSettings({ values: shared, sources }, [
    "databaseUrl",
    "databaseUrlFile",
    "dataDir",
  ]);
  if (unusable !== undefined) {
    const found = "the setting of its place cannot be used, so no database was tried";
    return [{ area: "database", subject: "", check: "answers", verdict: "not proven", found }];
  }
  const { databaseUrl, databaseUrlFile, dataDir = ".gas-waiver", requireSynchronousStandby = false } = shared;
  const url = databaseUrl ?? databaseUrlFile;
  const place = url === undefined ? { dataDir } : { databaseUrl: url };
  const connections = networks.length * connectionsOf(shared as StoreConnections);
  const stores = networks.flatMap((network) => expectedStore(network) ?? []);
  const [disk, database] = await Promise.all([
    checkDisk(shared),
    checkDatabase(place, { requireSynchronousStandby, ...(url !== undefined && { connections }) }, stores),
  ]);
  const networkOf = (schema: string | undefined) =>
    networks.find((network) => expectedStore(network)?.schema === schema)?.place?.name;
  const ofDatabase = database.map(({ schema, ...finding }): ConfigFinding => {
    const network = schema === undefined ? undefined : networkOf(schema);
    return { ...finding, area: "database", subject: "", ...(network !== undefined && { network }) };
  });
  return [...disk, ...ofDatabase];
}

/** Returns the store of a network; undefined if its schema cannot be read from the settings. */
function expectedStore(network: NetworkConfig) {
  const { place, values } = network;
  const { name } = place ?? {};
  const schema = values.schema ?? (name === undefined ? undefined : usualSchema(name));
  const isUnknown = unusableSettings(network, ["schema"]).length > 0 || (place && schema === undefined);
  if (isUnknown) return undefined;
  const { chainId } = values;
  return { ...(schema !== undefined && { schema }), ...(chainId !== undefined && { chainId }) };
}
