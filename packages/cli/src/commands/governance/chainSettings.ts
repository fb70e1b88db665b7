import { DEFAULT_HOST, DEFAULT_RPC_PORT } from "@gas-waiver/devnet/presets";
import { CONFIG_SETTING } from "../../serve/serveFile.js";
import { SERVE_SETTINGS } from "../../serve/serveSettings.js";
import { switchedOn } from "../../settings/parsers.js";

/** The settings of every governance command. The nodes are the service's own, so that its file will do. */
export const CHAIN_SETTINGS = {
  config: CONFIG_SETTING,
  rpcUrl: {
    ...SERVE_SETTINGS.rpcUrl,
    help: "JSON-RPC of nodes of the chain; one that does not answer gives way to the next.",
    required: false,
    defaultValue: `http://${DEFAULT_HOST}:${DEFAULT_RPC_PORT}`,
  },
  json: {
    help: "Print JSON, for programs.",
    parse: switchedOn,
  },
} as const;
