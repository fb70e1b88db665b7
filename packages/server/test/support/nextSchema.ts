import { readSchemaFiles, type SchemaFiles } from "../../src/store/schema/migrate.js";

/** The schema of a synthetic next version, which has one migration more: each part is a transaction of its own. */
export async function nextSchema(...parts: string[]): Promise<SchemaFiles> {
  const files = await readSchemaFiles();
  const number = files.number + 1;
  return { ...files, migrations: [...files.migrations, { number, parts }], number };
}
