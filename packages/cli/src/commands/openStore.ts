import { StartError } from "@gas-waiver/server";
import { CommandFailedError } from "../errorMessage.js";
import { given, text, url } from "../settings/parsers.js";
import type { Alternatives } from "../settings/setting.js";

/** Where the store of a service is, for commands that work on it from outside, and how they answer. */
export const STORE_SETTINGS = {
  dataDir: {
    flag: "data-dir",
    env: "GAS_WAIVER_DATA_DIR",
    placeholder: "FOLDER",
    help: "The data folder of a service that is running; unless DATABASE_URL names its database.",
    defaultText: ".gas-waiver",
    parse: text,
  },
  databaseUrl: {
    env: "DATABASE_URL",
    help: "The service's PostgreSQL; instead of --data-dir.",
    secret: true,
    parse: url("postgres:", "postgresql:"),
  },
  json: { flag: "json", help: "Print JSON.", parse: given },
} as const;

export const ONE_STORE: readonly Alternatives<"dataDir" | "databaseUrl">[] = [
  { of: ["dataDir", "databaseUrl"], what: "the place of the store", required: false },
];

export interface StoreValues {
  readonly dataDir: string | undefined;
  readonly databaseUrl: string | undefined;
}

/** Opens the store, uses it, closes it; what the service says of it becomes a sentence. */
export async function withStore<A extends { close(): Promise<void> }, T>(
  { dataDir = ".gas-waiver", databaseUrl }: StoreValues,
  open: (place: { dataDir: string } | { databaseUrl: string }) => Promise<A>,
  use: (admin: A) => Promise<T>,
): Promise<T> {
  let admin: A | undefined;
  try {
    admin = await open(databaseUrl === undefined ? { dataDir } : { databaseUrl });
    return await use(admin);
  } catch (error) {
    if (error instanceof StartError) throw new CommandFailedError(error.message, { cause: error });
    throw error;
  } finally {
    await admin?.close();
  }
}
