import { createWaiverClient, type WaiverClient } from "@gas-waiver/client";
import { text, url } from "./parsers.js";
import { secretFileOf } from "./secretFile.js";
import type { Values } from "./setting.js";

/** The setting of a command that uses a service as a client does. */
export const SERVICE_URL_SETTING = {
  url: {
    flag: "url",
    env: "GAS_WAIVER_URL",
    placeholder: "URL",
    help: "Base address of the service.",
    defaultValue: "http://127.0.0.1:8080",
    parse: url("http:", "https:"),
  },
} as const;

/** The settings of the client's API key. One of them is required, by {@link API_KEY_RULE}. */
export const API_KEY_SETTINGS = {
  apiKeyFile: {
    flag: "api-key-file",
    env: "GAS_WAIVER_API_KEY_FILE",
    placeholder: "FILE",
    help: "File of the API key, readable for its owner only.",
    parse: secretFileOf((content) => content.trim()),
  },
  apiKey: { env: "GAS_WAIVER_API_KEY", help: "The API key.", secret: true, parse: text },
} as const;

export const API_KEY_RULE = {
  keys: ["apiKeyFile", "apiKey"],
  subject: "the API key",
  required: true,
} as const;

/** Creates the client of a command with these settings. */
export function serviceClient({
  url: address,
  apiKeyFile,
  apiKey,
}: Values<typeof SERVICE_URL_SETTING & typeof API_KEY_SETTINGS>): WaiverClient {
  const key = apiKeyFile ?? apiKey;
  return createWaiverClient({ url: address, ...(key !== undefined && { apiKey: key }) });
}
