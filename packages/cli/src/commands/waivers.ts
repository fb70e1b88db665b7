import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { bytesToHex, checksumAddress, hexToBytes, privateKeyToAddress } from "@gas-waiver/protocol";
import type { ReplicaWaivers } from "@gas-waiver/server";
import { defineCommand } from "../command.js";
import { CommandFailedError } from "../errorMessage.js";
import { keyFile, text } from "../settings/parsers.js";
import { STORE_SETTINGS, withLanes } from "../store/withStore.js";
import {
  findKeystore,
  keystorePath,
  openKeystore,
  storeKey,
  writeSecretFile,
} from "../waivers/keystoreFiles.js";
import { PASSPHRASE_SETTINGS, readPassphrase } from "../waivers/passphrase.js";
import { FOLDER_SETTING, JSON_SETTING, KEYSTORE_SETTING, SEAL_SETTING } from "../waivers/waiverSettings.js";

export { rotate } from "./rotate.js";
export { exportKey as export, importKey as import };

export const create = defineCommand({
  description:
    "The command makes a private key and writes it, encrypted under a passphrase, as a file that geth, ethers and\n" +
    "Web3Signer read. The key itself is never shown. Keep a copy of the file and the passphrase apart from each other.\n" +
    "With --seal nobody knows the passphrase: the service has the key management service decrypt it at each start.",
  examples: [
    "gas-waiver waivers create --folder keystore",
    "gas-waiver waivers create --folder keystore --seal arn:aws:kms:eu-central-1:111122223333:alias/seal",
  ],
  settings: { folder: FOLDER_SETTING, ...PASSPHRASE_SETTINGS, seal: SEAL_SETTING, json: JSON_SETTING },
  async run(values, context) {
    // A random number that is no key (0, or not below the order of the curve) does not come.
    await storeKey(randomBytes(32), values, context);
  },
});

const importKey = defineCommand({
  description:
    "The command encrypts a private key that lies in a file. Destroy that file afterwards. It refuses a key that the folder has.",
  examples: ["gas-waiver waivers import --key-file waiver.key --folder keystore"],
  settings: {
    keyFile: {
      placeholder: "FILE",
      help: "File of the private key, as hex.",
      required: true,
      parse: keyFile,
    },
    folder: FOLDER_SETTING,
    ...PASSPHRASE_SETTINGS,
    seal: SEAL_SETTING,
    json: JSON_SETTING,
  },
  async run(values, context) {
    const { path, keys } = values.keyFile;
    const [key] = keys;
    if (key === undefined || keys.length > 1) {
      throw new CommandFailedError(`${path} holds ${keys.length} private keys; import them one by one`);
    }
    const address = privateKeyToAddress(key);
    const existing = findKeystore(values.folder, bytesToHex(address).slice(2));
    if (existing !== undefined)
      throw new CommandFailedError(`${existing} has the key of ${checksumAddress(address)} already`);
    await storeKey(key, values, context);
  },
});

const exportKey = defineCommand({
  description:
    "The command writes the private key of a keystore to a new file, as hex, unencrypted, for its owner alone. It never\n" +
    "shows it.",
  examples: ["gas-waiver waivers export --keystore keystore/UTC--… --out waiver.key"],
  settings: {
    keystore: KEYSTORE_SETTING,
    out: {
      placeholder: "FILE",
      help: "File to write; it must not exist.",
      required: true,
      parse: text,
    },
    ...PASSPHRASE_SETTINGS,
    json: JSON_SETTING,
  },
  async run(values, context) {
    const [file, ...others] = values.keystore;
    if (file === undefined || others.length > 0)
      throw new CommandFailedError("--keystore names no single file");
    const passphrase = () => readPassphrase(values, context);
    const fail = (reason: string) => new CommandFailedError(`${file.path} ${reason}`);
    const key = await openKeystore(file, passphrase, fail);
    await writeSecretFile(values.out, `${bytesToHex(key)}\n`);
    context.print(
      values.json ? JSON.stringify({ file: values.out }) : `the private key is in ${values.out}, unencrypted`,
    );
  },
});

export const list = defineCommand({
  description:
    "The command needs no passphrase: it prints the address that each keystore names, and its file.",
  examples: ["gas-waiver waivers list --folder keystore"],
  settings: { folder: { ...FOLDER_SETTING, parse: keystorePath }, json: JSON_SETTING },
  async run({ folder, json }, { print }) {
    const files = folder.map(({ path, keystore: { address, seal } }) => ({
      address: address === undefined ? undefined : checksumAddress(hexToBytes(`0x${address}`)),
      file: path,
      sealedBy: seal?.key,
    }));
    if (json) print(JSON.stringify(files));
    else
      for (const { address, file, sealedBy } of files) {
        const seal = sealedBy === undefined ? "" : `, sealed by ${sealedBy}`;
        print(`${address ?? "an address that it does not name"} in ${file}${seal}`);
      }
  },
});

/** The time in which a replica says in the store which keys it has, in ms. */
const HEARD_WITHIN_MS = 3_000;

export const reload = defineCommand({
  description:
    "Every replica reads its settings again, as at SIGHUP, and takes over the waivers' keys alone: new keys get lanes, and keys\n" +
    "that are gone lose them. A replica that finds a mistake or cannot open a custody keeps its keys and says so in its output.\n" +
    "The command shows the keys of each replica some seconds later.",
  examples: ["gas-waiver waivers reload"],
  settings: STORE_SETTINGS,
  async run(values, { print, signal }) {
    const replicas = await withLanes(values, async (lanes) => {
      await lanes.reload();
      await sleep(HEARD_WITHIN_MS, undefined, { signal });
      return lanes.replicas();
    });
    if (values.json) print(JSON.stringify(replicas.map(replicaJson)));
    else if (replicas.length === 0) print("no replica is alive");
    else
      for (const { id, waivers } of replicas.map(replicaJson)) {
        print(`replica ${id} has ${waivers.length} key(s)`);
        for (const waiver of waivers) print(`  ${waiver}`);
      }
  },
});

function replicaJson({ id, waivers }: ReplicaWaivers) {
  return { id, waivers: waivers.map((waiver) => bytesToHex(waiver)) };
}
