import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { loadSource } from "./loadSource.mjs";
import { root } from "./setup.mjs";

/** Writes the pages, pictures and schemas that are made from the code (scripts/pages). */
export async function writeGeneratedFiles() {
  const { module, close } = await loadSource("/scripts/pages/index.ts");
  try {
    for (const [path, text] of await module.generatedFiles()) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
  } finally {
    await close();
  }
}
