import { text } from "../settings/parsers.js";
import { kmsKeyName } from "../settings/serviceValues.js";
import { keystorePath } from "./keystoreFiles.js";
import { PASSPHRASE } from "./passphrase.js";

export const FOLDER_SETTING = {
  placeholder: "FOLDER",
  help: "Folder of the keystores.",
  defaultValue: "keystore",
  parse: text,
} as const;

export const KEYSTORE_SETTING = {
  placeholder: "FILE",
  help: "File of the keystore.",
  required: true,
  parse: keystorePath,
} as const;

export const SEAL_SETTING = {
  placeholder: "KEY",
  subject: PASSPHRASE,
  help: "Key of AWS KMS, Google Cloud KMS or Azure Key Vault that encrypts the passphrase, which is then a random one.",
  parse: kmsKeyName,
} as const;

export const JSON_SETTING = { flag: "json", help: "Print JSON, for programs." } as const;
