import { checksumAddress, privateKeyToAddress } from "@gas-waiver/protocol";
import { encryptKeystore } from "@gas-waiver/server";
import type { Context } from "../command.js";
import type { Values } from "../settings/setting.js";
import { writeKeystore } from "./keystoreFiles.js";
import { type PASSPHRASE_SETTINGS, readNewPassphrase } from "./passphrase.js";

type StoreValues = Values<typeof PASSPHRASE_SETTINGS> & {
  readonly folder: string;
  readonly json: boolean | undefined;
};

/** Writes a private key as a new keystore, and prints its address and file. */
export async function storeKey(privateKey: Uint8Array, values: StoreValues, context: Context): Promise<void> {
  const passphrase = await readNewPassphrase(values, context);
  const file = await writeKeystore(values.folder, await encryptKeystore(privateKey, passphrase));
  const address = checksumAddress(privateKeyToAddress(privateKey));
  context.print(values.json ? JSON.stringify({ address, file }) : `${address} in ${file}`);
}
