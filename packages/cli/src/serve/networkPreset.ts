import { STABLE, STABLE_NETWORKS } from "@gas-waiver/protocol";
import { entriesOf, oneOf } from "../settings/parsers.js";
import { namesOf, type Setting } from "../settings/setting.js";

type NetworkPreset = keyof typeof STABLE_NETWORKS;
const NAMES = Object.keys(STABLE_NETWORKS) as [NetworkPreset, ...NetworkPreset[]];

/** The share of a public endpoint's limit that the service uses: a window of the endpoint may begin anywhere. */
const USED_SHARE = 0.9;

/** A network whose facts are published (D39). It gives the settings of the chain, and the operator an endpoint and keys. */
export const NETWORK_PRESET: Setting<NetworkPreset> = {
  ...namesOf("network"),
  placeholder: "NAME",
  help: `Network whose facts are known: ${NAMES.join(" or ")}. It gives --chain-id and --reorg-depth, and --rpc-rate where --rpc-url names the network's public endpoint.`,
  defaultText: "none",
  parse: oneOf(...NAMES),
  presets(name, textOf) {
    const network = STABLE_NETWORKS[name as NetworkPreset];
    if (network === undefined) return {};
    const { requests, windowMs } = STABLE.publicRpcLimit;
    const perSecond = Math.floor((requests / windowMs) * 1_000 * USED_SHARE);
    return {
      chainId: String(network.chainId),
      // Its blocks are final at once.
      reorgDepth: "0",
      ...(isPublic(textOf("rpcUrl")) && { rpcRatePerSecond: String(perSecond) }),
    };
  },
};

/** Whether one of the endpoints is a public one. */
function isPublic(urls = ""): boolean {
  const hosts = Object.values(STABLE_NETWORKS).map(({ rpcUrl }) => new URL(rpcUrl).host);
  return entriesOf(urls).some((url) => URL.canParse(url) && hosts.includes(new URL(url).host));
}
