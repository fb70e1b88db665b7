import { switchedOn, text } from "../settings/parsers.js";
import { kmsKeyName } from "../settings/serviceValues.js";
import { keystorePath } from "./keystoreFiles.js";
import { PASSPHRASE_SETTINGS } from "./passphrase.js";

export const FOLDER_SETTING = {
  flag: "folder",
  placeholder: "FOLDER",
  help: "Folder of the keystores.",
  defaultValue: "keystore",
  parse: text,
} as const;

export const KEYSTORE_SETTING = {
  flag: "keystore",
  placeholder: "FILE",
  help: "File of the keystore.",
  required: true,
  parse: keystorePath,
} as const;

export const SEAL_SETTING = {
  flag: "seal",
  placeholder: "KEY",
  help: "Key of AWS KMS, Google Cloud KMS or Azure Key Vault that encrypts the passphrase, which is then a random one.",
  parse: kmsKeyName,
} as const;

export const JSON_SETTING = { flag: "json", help: "Print JSON, for programs.", parse: switchedOn } as const;

/** A new passphrase's places exclude each other, and a seal makes one by itself. */
export const NEW_PASSPHRASE_ALTERNATIVES = {
  keys: ["passphraseFile", "passphraseFd", "seal"],
  subject: "the passphrase",
  required: false,
} as const;

/** The passphrase's places exclude each other. */
export const PASSPHRASE_ALTERNATIVES = {
  keys: Object.keys(PASSPHRASE_SETTINGS) as (keyof typeof PASSPHRASE_SETTINGS)[],
  subject: "the passphrase",
  required: false,
} as const;
