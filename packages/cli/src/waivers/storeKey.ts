import { checksumAddress, type Hex, privateKeyToAddress } from "@gas-waiver/protocol";
import { encryptKeystore, type Keystore, sealKeystore } from "@gas-waiver/server";
import type { Context } from "../command.js";
import type { Values } from "../settings/setting.js";
import { usable } from "./custody.js";
import { writeKeystore } from "./keystoreFiles.js";
import { type PASSPHRASE_SETTINGS, readNewPassphrase } from "./passphrase.js";

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
