import { mkdirSync, readdirSync, statSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { checksumAddress, type Hex, privateKeyToAddress } from "@gas-waiver/protocol";
import {
  decryptKeystore,
  encryptKeystore,
  type Keystore,
  KeystoreError,
  openSealedKeystore,
  parseKeystore,
  sealKeystore,
} from "@gas-waiver/server";
import type { Context } from "../command.js";
import { CommandFailedError } from "../errorMessage.js";
import { withForm } from "../settings/form.js";
import { fileOf } from "../settings/parsers.js";
import { InvalidValueError, type Values } from "../settings/setting.js";
import { usable } from "./custody.js";
import { type PASSPHRASE_SETTINGS, readNewPassphrase } from "./passphrase.js";

/** A keystore that lies in a file. */
export interface KeystoreFile {
  readonly path: string;
  /** The path in the settings: of the file itself, or of its folder. */
  readonly given: string;
  readonly keystore: Keystore;
}

/** Parses the path of a keystore, or of a folder of them. */
export const keystorePath = withForm({ kind: "path" }, (given): KeystoreFile[] => {
  const paths = isFolder(given) ? filesOf(given) : [given];
  if (paths.length === 0) throw new InvalidValueError("is a folder without a keystore");
  return paths.map((path) => {
    try {
      return { path, given, keystore: fileOf(parseKeystore)(path) };
    } catch (error) {
      if (!(error instanceof KeystoreError)) throw error;
      throw new InvalidValueError(path === given ? error.message : `holds ${path}, which ${error.message}`);
    }
  });
});

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** The files of a folder in the order of their names, without hidden ones. */
function filesOf(folder: string): string[] {
  const names = readdirSync(folder, { withFileTypes: true }).filter(
    (one) => one.isFile() && !one.name.startsWith("."),
  );
  return names.map(({ name }) => join(folder, name)).sort();
}

/** Finds the keystore of an address in a folder, as far as the files there say whose they are. */
export function findKeystore(folder: string, address: string): string | undefined {
  if (!isFolder(folder)) return undefined;
  return filesOf(folder).find((path) => {
    try {
      return fileOf(parseKeystore)(path).address === address;
    } catch (error) {
      if (error instanceof KeystoreError || error instanceof InvalidValueError) return false;
      throw error;
    }
  });
}

/**
 * Writes a keystore under the name that geth gives it, for its owner alone.
 * @returns the path.
 */
async function writeKeystore(folder: string, keystore: Keystore, now = new Date()): Promise<string> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const time = now.toISOString().replaceAll(":", "-").replace("Z", "000000Z");
  const path = join(folder, `UTC--${time}--${keystore.address}`);
  await writeSecretFile(path, `${JSON.stringify(keystore)}\n`);
  return path;
}

/**
 * Writes a new file for its owner alone, to the disk. Where that fails, it leaves none: a service reads all files of its folder.
 * @throws {@link CommandFailedError} if the file is there already.
 */
export async function writeSecretFile(path: string, content: string): Promise<void> {
  try {
    await writeFile(path, content, { mode: 0o600, flag: "wx", flush: true });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "EEXIST") await rm(path, { force: true });
    throw new CommandFailedError(
      code === "EEXIST" ? `${path} is there already` : `${path} cannot be written: ${message}`,
    );
  }
}

/**
 * Decrypts the private key of a keystore, by its seal or by the passphrase.
 * @param fail makes the error of a keystore that cannot be opened from the rest of a sentence that begins with the file.
 */
export async function openKeystore(
  { keystore }: KeystoreFile,
  passphrase: () => Promise<string>,
  fail: (reason: string) => Error,
): Promise<Uint8Array> {
  try {
    if (keystore.seal) return await usable(() => openSealedKeystore(keystore));
    return await decryptKeystore(keystore, await passphrase());
  } catch (error) {
    if (error instanceof KeystoreError) throw fail(error.message);
    throw error;
  }
}

type StoreValues = Values<typeof PASSPHRASE_SETTINGS> & {
  readonly seal: string | undefined;
  readonly folder: string;
  readonly json: boolean | undefined;
};

/**
 * Writes a private key as a new keystore, and prints its address and file.
 * @returns the address.
 */
export async function storeKey(privateKey: Uint8Array, values: StoreValues, context: Context): Promise<Hex> {
  const file = await writeKeystore(values.folder, await encrypted(privateKey, values, context));
  const address = checksumAddress(privateKeyToAddress(privateKey));
  context.print(values.json ? JSON.stringify({ address, file }) : `${address} in ${file}`);
  return address;
}

async function encrypted(privateKey: Uint8Array, values: StoreValues, context: Context): Promise<Keystore> {
  const { seal } = values;
  if (seal !== undefined) return await usable(() => sealKeystore(privateKey, seal));
  return await encryptKeystore(privateKey, await readNewPassphrase(values, context));
}
