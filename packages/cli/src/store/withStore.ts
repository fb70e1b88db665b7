import { hostname, userInfo } from "node:os";
import { type LaneAdmin, openLaneAdmin, StartError, storeTroubleSentence } from "@gas-waiver/server";
import { CommandFailedError } from "../errorMessage.js";
import { schemasOf } from "../serve/networkSchema.js";
import { CONFIG_SETTING } from "../serve/serveFile.js";
import { SERVE_SETTINGS } from "../serve/serveSettings.js";
import type { ConfigFile } from "../settings/configFile.js";
import { UsageError } from "../settings/readSettings.js";

/** The settings of commands that work on a service's store from outside: its location, and the output's format. */
export const STORE_SETTINGS = {
  config: CONFIG_SETTING,
  dataDir: {
    ...SERVE_SETTINGS.dataDir,
    help: "Data folder of a running service with an embedded PostgreSQL.",
  },
  databaseUrlFile: {
    ...SERVE_SETTINGS.databaseUrlFile,
    help: "File with the URL of the service's PostgreSQL, as in DATABASE_URL.",
  },
  databaseUrl: {
    ...SERVE_SETTINGS.databaseUrl,
    help: "URL of the service's PostgreSQL; instead of --data-dir.",
  },
  schema: {
    ...SERVE_SETTINGS.schema,
    placeholder: "NAME",
    help: "PostgreSQL schema of the service's tables; of a network among several gas_waiver_ and its name.",
    defaultText: "public",
  },
  json: { help: "Print JSON, for programs." },
} as const;

export interface StoreValues {
  readonly config?: ConfigFile | undefined;
  readonly dataDir: string | undefined;
  readonly databaseUrlFile: string | undefined;
  readonly databaseUrl: string | undefined;
  readonly schema?: string | undefined;
}

/** The place of a store's tables. */
export type StorePlace = ({ readonly dataDir: string } | { readonly databaseUrl: string }) & {
  readonly schema?: string;
};

/**
 * Opens the store for administration, calls `use`, and closes it.
 * @throws {@link CommandFailedError} if the store cannot be opened, or goes away meanwhile, {@link UsageError} if it could be that of several networks.
 */
export async function withStore<A extends { close(): Promise<void> }, T>(
  { config, dataDir = ".gas-waiver", databaseUrlFile, databaseUrl = databaseUrlFile, schema }: StoreValues,
  open: (place: StorePlace) => Promise<A>,
  use: (admin: A) => Promise<T>,
): Promise<T> {
  assertOneNetwork(config, schema);
  let admin: A | undefined;
  try {
    const database = databaseUrl === undefined ? { dataDir } : { databaseUrl };
    admin = await open({ ...database, ...(schema !== undefined && { schema }) });
    return await use(admin);
  } catch (error) {
    const sentence = error instanceof StartError ? error.message : storeTroubleSentence(error);
    if (sentence === undefined) throw error;
    throw new CommandFailedError(sentence, { cause: error });
  } finally {
    await admin?.close();
  }
}

/** The tables outside of the networks' schemas are of no network: a key that is made there opens nothing. */
function assertOneNetwork(config: ConfigFile | undefined, schema: string | undefined): void {
  const schemas = config && schemasOf(config);
  if (config === undefined || schemas === undefined || schema !== undefined) return;
  const choice = schemas.join(", ");
  throw new UsageError([
    `${config.path} has a list of networks: name the schema of one with --schema (${choice})`,
  ]);
}

/** The actor in the audit for changes by the command line: the system's user and host. */
export function commandLineUser(): string {
  let user = "somebody";
  try {
    user = userInfo().username;
  } catch {
    // A container's user may have no name.
  }
  return `command line, ${user}@${hostname()}`;
}

/** The setting of commands on lanes that ask the chain's nodes: the service's own, so that they take its file. */
export const NODE_SETTING = { rpcUrl: SERVE_SETTINGS.rpcUrl } as const;

/** Opens the lanes of a service's store, uses them and closes the store. */
export const withLanes = <T>(values: StoreValues, use: (lanes: LaneAdmin) => Promise<T>): Promise<T> =>
  withStore(values, (place) => openLaneAdmin(place, commandLineUser()), use);
