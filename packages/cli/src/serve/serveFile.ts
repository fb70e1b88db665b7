import { isServicePath } from "@gas-waiver/server";
import { readConfigFile } from "../settings/configFile.js";
import { withForm } from "../settings/form.js";
import { text } from "../settings/parsers.js";
import { InvalidValueError, namesOf } from "../settings/setting.js";
import { NETWORK_SETTINGS, SHARED_SETTINGS } from "./serveSettings.js";

/** The name of a network, and its place under the service's address. Only entries of `networks` have them. */
export const NETWORK_PLACE = {
  name: {
    fileKey: "name",
    help: "Name of the network: lower-case letters, digits and hyphens.",
    required: true,
    parse: placed(
      /^[a-z](?:[a-z0-9-]{0,30}[a-z0-9])?$/,
      "is not a name of up to 32 lower-case letters, digits and hyphens",
    ),
  },
  path: {
    fileKey: "path",
    help: "Path in front of the network's API: with /mainnet it is at /mainnet/v1/…; / has all paths of no other network. Default: / and the name.",
    parse: placed(/^\/$|^(?:\/[a-z0-9][a-z0-9._-]*)+$/, "is not a path such as /mainnet"),
  },
  host: {
    fileKey: "host",
    help: "Name in the Host of requests for this network, whose API is then at /v1/…; instead of path.",
    parse: matching(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/, "is not a host name in lower case"),
  },
} as const;

/** Takes a name or path that is none of the service's own, which the network would hide. */
function placed(pattern: RegExp, otherwise: string) {
  const parse = matching(pattern, otherwise);
  return withForm({ kind: "text", pattern: pattern.source }, (value) => {
    const path = parse(value);
    if (isServicePath(path.startsWith("/") ? path : `/${path}`))
      throw new InvalidValueError("is a path of the service itself");
    return path;
  });
}

function matching(pattern: RegExp, otherwise: string) {
  return withForm({ kind: "text", pattern: pattern.source }, (value) => {
    if (pattern.test(value)) return text(value);
    throw new InvalidValueError(otherwise);
  });
}

/** The settings of a configuration file. */
export const FILE_SETTINGS = { shared: SHARED_SETTINGS, network: NETWORK_SETTINGS, place: NETWORK_PLACE };

/** The configuration file of a command. No file is read that nobody names, since whoever wrote it decides which keys sign. */
export const CONFIG_SETTING = {
  ...namesOf("config"),
  placeholder: "FILE",
  help: "Configuration file (YAML or JSON). Variables win over it, and flags over both.",
  isConfigFile: true,
  parse: withForm({ kind: "path" }, (path) => readConfigFile(path, FILE_SETTINGS)),
} as const;
