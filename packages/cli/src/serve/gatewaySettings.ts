import { WAITS } from "@gas-waiver/protocol";
import { DEFAULTS, GATEWAY_PAID } from "@gas-waiver/server";
import { oneOf } from "../settings/parsers.js";
import { limit } from "./limitSettings.js";

/** Settings of the gateway, which wallets use by its URL. */
export const GATEWAY_SETTINGS = {
  gatewayWait: {
    flag: "gateway-wait",
    env: "GAS_WAIVER_GATEWAY_WAIT",
    placeholder: "WHEN",
    help: "When the gateway answers eth_sendRawTransaction: broadcast, once the node has the transaction, or included, once a block has it.",
    defaultText: DEFAULTS.gatewayWait,
    parse: oneOf(...WAITS),
  },
  gatewayPaid: {
    flag: "gateway-paid",
    env: "GAS_WAIVER_GATEWAY_PAID",
    placeholder: "WHAT",
    help: "What the gateway does with a transaction that pays for itself: pass it to the node, or refuse it.",
    defaultText: DEFAULTS.gatewayPaid,
    parse: oneOf(...GATEWAY_PAID),
  },
  gatewayRatePerSecond: limit(
    "gateway-rate",
    "N",
    "Most reads a second of each API key on the gateway of one replica; twice as many at once.",
    DEFAULTS.gatewayRatePerSecond,
    1,
  ),
  gatewayAddressRatePerSecond: limit(
    "gateway-address-rate",
    "N",
    "The same for each address under an API key.",
    DEFAULTS.gatewayAddressRatePerSecond,
    1,
  ),
  gatewayLogBlocks: limit(
    "gateway-log-blocks",
    "N",
    "Most blocks that one eth_getLogs searches.",
    DEFAULTS.gatewayLogBlocks,
    1,
  ),
  gatewayAnswerBytes: limit(
    "gateway-answer-bytes",
    "BYTES",
    "Largest answer of a node that the gateway passes on.",
    DEFAULTS.gatewayAnswerBytes,
    65_536,
  ),
} as const;
