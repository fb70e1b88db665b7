import { open } from "node:fs/promises";

/** Writes a new file that only this user reads. After a crash of the machine it is whole, or not there. */
export async function writeDurably(file: string, content: string): Promise<void> {
  const handle = await open(file, "wx", 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
