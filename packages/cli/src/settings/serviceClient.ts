import { isIPv6 } from "node:net";
import { createWaiverClient, type WaiverClient } from "@gas-waiver/client";
import { DEFAULT_HOST, DEFAULT_SERVICE_PORT } from "@gas-waiver/devnet/presets";
import type { ConfigFile } from "./configFile.js";
import { text, url } from "./parsers.js";
import { secretFileOf } from "./secretFile.js";
import { namesOf, type Values } from "./setting.js";

/** The setting of a command that uses a service as a client does. */
export const SERVICE_URL_SETTING = {
  url: {
    ...namesOf("url"),
    placeholder: "URL",
    help: "Base address of the service.",
    defaultValue: `http://${DEFAULT_HOST}:${DEFAULT_SERVICE_PORT}`,
    parse: url("http:", "https:"),
  },
} as const;

export const API_KEY = "the API key";

export const API_KEY_SETTINGS = {
  apiKeyFile: {
    ...namesOf("api-key-file"),
    placeholder: "FILE",
    subject: API_KEY,
    help: "File of the API key, readable for its owner only.",
    parse: secretFileOf((content) => content.trim()),
  },
  apiKey: { env: "GAS_WAIVER_API_KEY", subject: API_KEY, help: "The API key.", secret: true, parse: text },
} as const;

/** Returns the address at which the service of a configuration file listens on this machine. */
export function urlOfFile({ values }: ConfigFile): string {
  const textOf = (key: string) => {
    const text = values.get(key)?.text;
    return typeof text === "string" ? text : undefined;
  };
  const host = textOf("host") ?? "0.0.0.0";
  const address = isIPv6(host) ? `[${host === "::" ? "::1" : host}]` : host;
  const scheme = textOf("tls-cert") === undefined ? "http" : "https";
  return `${scheme}://${host === "0.0.0.0" ? DEFAULT_HOST : address}:${textOf("port") ?? DEFAULT_SERVICE_PORT}`;
}

/** Creates the client of a command with these settings. */
export function serviceClient({
  url: address,
  apiKeyFile,
  apiKey,
}: Values<typeof SERVICE_URL_SETTING & typeof API_KEY_SETTINGS>): WaiverClient {
  const key = apiKeyFile ?? apiKey;
  return createWaiverClient({ url: address, ...(key !== undefined && { apiKey: key }) });
}
