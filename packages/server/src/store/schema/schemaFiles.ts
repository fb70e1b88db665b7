import { readdir, readFile } from "node:fs/promises";

/** The package's folder with the plan of a new store, `baseline`, and the numbered migrations that upgrade an older one. */
const MIGRATIONS = new URL("../../../migrations/", import.meta.url);

/** The number of a schema whose baseline no migration has changed yet. */
const FIRST_NUMBER = 1;

export interface Migration {
  readonly number: number;
  /** Each part is a transaction of its own. */
  readonly parts: readonly string[];
}

/** The schema that a program knows. */
export interface SchemaFiles {
  /** Makes the tables and functions of a new store, as they are with all migrations. */
  readonly baseline: string;
  /** In the order of their numbers. */
  readonly migrations: readonly Migration[];
  /** The number that a store has with all of it. */
  readonly number: number;
}

/** Reads the schema of this program. */
export async function readSchemaFiles(folder = MIGRATIONS): Promise<SchemaFiles> {
  const names = (await readdir(folder, { recursive: true })).sort();
  const textOf = (name: string) => readFile(new URL(name, folder), "utf8");
  const baseline = names.filter((name) => /^baseline\b.*\.sql$/.test(name));
  const migrations = await Promise.all(
    names
      .filter((name) => /^\d{6}\.sql$/.test(name))
      .map(async (name) => ({
        number: Number.parseInt(name, 10),
        parts: (await textOf(name)).split(/^-- then$/m),
      })),
  );
  return {
    baseline: (await Promise.all(baseline.map(textOf))).join("\n"),
    migrations,
    number: migrations.at(-1)?.number ?? FIRST_NUMBER,
  };
}
