import { switchedOn, text } from "../settings/parsers.js";
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

export const JSON_SETTING = { flag: "json", help: "Print JSON, for programs.", parse: switchedOn } as const;

/** The passphrase's places exclude each other. */
export const PASSPHRASE_ALTERNATIVES = {
  keys: Object.keys(PASSPHRASE_SETTINGS) as (keyof typeof PASSPHRASE_SETTINGS)[],
  subject: "the passphrase",
  required: false,
} as const;
