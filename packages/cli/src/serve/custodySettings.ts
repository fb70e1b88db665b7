import { hexToBytes, privateKeyToAddress } from "@gas-waiver/protocol";
import { listOf, withForm } from "../settings/form.js";
import {
  address,
  addresses,
  entriesOf,
  fileOf,
  keyFile,
  kmsKeyName,
  privateKeys,
  text,
  url,
} from "../settings/parsers.js";
import { secretFile, secretFileOf } from "../settings/secretFile.js";
import { nameOf, type Values } from "../settings/setting.js";
import { keystorePath } from "../waivers/keystoreFiles.js";
import { firstLine, PASSPHRASE_SETTINGS } from "../waivers/passphrase.js";

// The custodies of the waivers' keys (D33). Another custody is a file in the server's custody/, a setting here, and a
// case in openWaivers.

/** A waiver's key in a key management service, and the waiver's address, 20 bytes, where the settings name it. */
export interface KmsWaiver {
  readonly key: string;
  readonly address?: Uint8Array;
}

const kmsKeys = withForm(listOf(text), (list): KmsWaiver[] =>
  entriesOf(list).map((entry) => {
    const [, key = entry, waiver] = /^(.*)=(0x.*)$/.exec(entry) ?? [];
    return { key: kmsKeyName(key), ...(waiver && { address: address(waiver) }) };
  }),
);

/** The custodies that have a flag. */
export const CUSTODY_FLAGS = {
  waiverKeystore: {
    flag: "waiver-keystore",
    env: "GAS_WAIVER_KEYSTORE",
    placeholder: "PATH",
    help: "Encrypted keystore of a waiver's key (Web3 Secret Storage), or a folder of them.",
    parse: keystorePath,
  },
  ...PASSPHRASE_SETTINGS,
  waiverKms: {
    flag: "waiver-kms",
    env: "GAS_WAIVER_KMS",
    placeholder: "KEYS",
    help: "Keys of waivers in AWS KMS, Google Cloud KMS or Azure Key Vault, by their names, each alone or as KEY=ADDRESS.",
    repeatable: true,
    parse: kmsKeys,
  },
  pkcs11Library: {
    flag: "pkcs11-library",
    env: "GAS_WAIVER_PKCS11_LIBRARY",
    placeholder: "FILE",
    help: "PKCS#11 library of the hardware security module that has the keys of --pkcs11-keys.",
    parse: text,
  },
  pkcs11Token: {
    flag: "pkcs11-token",
    env: "GAS_WAIVER_PKCS11_TOKEN",
    placeholder: "LABEL",
    help: "Label of the token in the hardware security module.",
    parse: text,
  },
  pkcs11PinFile: {
    flag: "pkcs11-pin-file",
    env: "GAS_WAIVER_PKCS11_PIN_FILE",
    placeholder: "FILE",
    help: "File with the user's PIN of the token on its first line.",
    parse: secretFileOf(firstLine),
  },
  pkcs11Keys: {
    flag: "pkcs11-keys",
    env: "GAS_WAIVER_PKCS11_KEYS",
    placeholder: "LABELS",
    help: "Labels of the waivers' key pairs in the token, separated by commas.",
    repeatable: true,
    parse: withForm(listOf(text), entriesOf),
  },
  web3signerUrl: {
    flag: "web3signer-url",
    env: "GAS_WAIVER_WEB3SIGNER_URL",
    placeholder: "URL",
    help: "Web3Signer (eth1 interface) that has the keys of --web3signer-waivers.",
    parse: url("http:", "https:"),
  },
  web3signerWaivers: {
    flag: "web3signer-waivers",
    env: "GAS_WAIVER_WEB3SIGNER_WAIVERS",
    placeholder: "ADDRESSES",
    help: "Addresses of the waivers whose keys the Web3Signer has, separated by commas.",
    repeatable: true,
    parse: addresses,
  },
  web3signerCa: {
    flag: "web3signer-ca",
    env: "GAS_WAIVER_WEB3SIGNER_CA",
    placeholder: "FILE",
    help: "Certificate of the issuer of the Web3Signer's certificate, as PEM.",
    defaultText: "the issuers that Node knows",
    parse: fileOf(text),
  },
  web3signerCert: {
    flag: "web3signer-cert",
    env: "GAS_WAIVER_WEB3SIGNER_CERT",
    placeholder: "FILE",
    help: "Certificate that the service shows to the Web3Signer, as PEM.",
    parse: fileOf(text),
  },
  web3signerKey: {
    flag: "web3signer-key",
    env: "GAS_WAIVER_WEB3SIGNER_KEY",
    placeholder: "FILE",
    help: "Private key of --web3signer-cert as PEM.",
    parse: secretFile,
  },
  waiverKeyFile: {
    flag: "waiver-key-file",
    env: "GAS_WAIVER_KEY_FILE",
    placeholder: "FILE",
    help: "File of the waivers' private keys, unencrypted, as hex, one a line: for tests.",
    parse: keyFile,
  },
} as const;

/** The custodies that have an environment variable alone. */
export const CUSTODY_VARIABLES = {
  waiverKeys: {
    env: "GAS_WAIVER_KEYS",
    help: "The waivers' private keys, as hex, separated by commas; instead of --waiver-key-file.",
    secret: true,
    parse: privateKeys,
  },
} as const;

/** One custody must be given. */
export const CUSTODIES = {
  keys: ["waiverKeystore", "waiverKms", "pkcs11Library", "web3signerUrl", "waiverKeyFile", "waiverKeys"],
  subject: "the custody of the waivers' keys",
  required: true,
} as const;

const ALL = { ...CUSTODY_FLAGS, ...CUSTODY_VARIABLES } as const;

export type CustodyValues = Values<typeof ALL>;

/** The names of all settings of custodies. */
export const CUSTODY_KEYS: readonly string[] = Object.keys(ALL);

/** Tells whether a setting is one of a custody. */
export const isOfCustody = (name: string) => Object.hasOwn(ALL, name);

/** Separates the settings of custodies from the others. */
export function splitCustody<V extends CustodyValues>(values: V) {
  const { waiverKeystore, passphraseFile, passphraseFd, waiverKms, waiverKeyFile, waiverKeys, ...rest } =
    values;
  const { pkcs11Library, pkcs11Token, pkcs11PinFile, pkcs11Keys, ...restOfAll } = rest;
  const { web3signerUrl, web3signerWaivers, web3signerCa, web3signerCert, web3signerKey, ...otherValues } =
    restOfAll;
  const custody: CustodyValues = {
    ...{ waiverKeystore, passphraseFile, passphraseFd, waiverKms, waiverKeyFile, waiverKeys },
    ...{ pkcs11Library, pkcs11Token, pkcs11PinFile, pkcs11Keys },
    ...{ web3signerUrl, web3signerWaivers, web3signerCa, web3signerCert, web3signerKey },
  };
  return { custody, otherValues };
}

/** Settings that belong to a custody that is not given, or lack another one. */
export function problemsOfCustody(values: Partial<CustodyValues>): string[] {
  const name = (key: keyof typeof ALL) => nameOf(ALL[key]);
  const { waiverKeystore, passphraseFile, passphraseFd, web3signerUrl, web3signerWaivers } = values;
  const { web3signerCa, web3signerCert, web3signerKey } = values;
  const problems: string[] = [];
  if (passphraseFile !== undefined && passphraseFd !== undefined) {
    problems.push(`${name("passphraseFile")} and ${name("passphraseFd")} are both given`);
  }
  if ((passphraseFile ?? passphraseFd) !== undefined && waiverKeystore === undefined) {
    problems.push(`a passphrase is given without ${name("waiverKeystore")}`);
  }
  if (web3signerUrl !== undefined && (web3signerWaivers ?? []).length === 0) {
    problems.push(`${name("web3signerUrl")} is given without ${name("web3signerWaivers")}`);
  }
  const others = [web3signerWaivers, web3signerCa, web3signerCert, web3signerKey];
  if (web3signerUrl === undefined && others.some((value) => value !== undefined)) {
    problems.push(`settings of a Web3Signer are given without ${name("web3signerUrl")}`);
  }
  if ((web3signerCert === undefined) !== (web3signerKey === undefined)) {
    problems.push(`${name("web3signerCert")} and ${name("web3signerKey")} belong together`);
  }
  const { pkcs11Library, pkcs11Token, pkcs11PinFile, pkcs11Keys } = values;
  const ofToken = [pkcs11Token, pkcs11PinFile, pkcs11Keys];
  if (ofToken.some((value) => (value !== undefined) !== (pkcs11Library !== undefined))) {
    const names = (["pkcs11Library", "pkcs11Token", "pkcs11PinFile", "pkcs11Keys"] as const).map(name);
    problems.push(`${names.join(", ")} belong together`);
  }
  return problems;
}

/** The addresses of the waivers, as far as the settings name them without a passphrase or a call; 20 bytes each. */
export function waiverAddresses(values: CustodyValues): Uint8Array[] {
  const { waiverKeystore = [], waiverKms = [], web3signerWaivers = [], waiverKeyFile, waiverKeys } = values;
  return [
    ...(waiverKeyFile?.keys ?? waiverKeys ?? []).map((key) => privateKeyToAddress(key)),
    ...waiverKeystore.flatMap(({ keystore }) =>
      keystore.address ? [hexToBytes(`0x${keystore.address}`)] : [],
    ),
    ...waiverKms.flatMap(({ address }) => (address ? [address] : [])),
    ...web3signerWaivers,
  ];
}
