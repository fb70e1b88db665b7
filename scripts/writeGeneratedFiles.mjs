import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { loadSource } from "./loadSource.mjs";
import { root } from "./setup.mjs";

/**
 * Writes the pages and the schema that are made from the code (scripts/pages).
 * @returns {Promise<ReadonlyMap<string, string>>} their texts, by their paths from the repository's root
 */
export async function writeGeneratedFiles() {
  const { module, close } = await loadSource("/scripts/pages/index.ts");
  try {
    const files = await module.generatedFiles();
    for (const [path, text] of files) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    return files;
  } finally {
    await close();
  }
}
