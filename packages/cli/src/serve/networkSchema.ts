import type { ConfigFile } from "../settings/configFile.js";

/** Returns the schema that the service chooses for the tables of a network whose settings name none. */
export const usualSchema = (network: string) => `gas_waiver_${network.replaceAll("-", "_")}`;

/** Lists the schemas of a configuration file's networks; undefined if the file has no list of networks. */
export function schemasOf({ networks }: ConfigFile): string[] | undefined {
  return networks?.map(({ values }) => {
    const text = (key: string) => values.get(key)?.text;
    return String(text("schema") ?? usualSchema(String(text("name"))));
  });
}
