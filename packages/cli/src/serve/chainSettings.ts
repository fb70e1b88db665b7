import { INNER_ENCODINGS } from "@gas-waiver/protocol";
import { withForm } from "../settings/form.js";
import {
  allowedTargetsOrFile,
  oneOf,
  policySource,
  switchedOn,
  url,
  urls,
  wholeNumber,
} from "../settings/parsers.js";

/** The settings of the chain: its nodes, and the allowed targets. */
export const CHAIN_SETTINGS = {
  rpcUrl: {
    flag: "rpc-url",
    env: "GAS_WAIVER_RPC_URL",
    placeholder: "URL",
    help: "JSON-RPC URL of the chain's node; several, separated by commas, in the order of preference.",
    required: true,
    repeatable: true,
    parse: urls("http:", "https:"),
  },
  rpcWsUrl: {
    flag: "rpc-ws-url",
    env: "GAS_WAIVER_RPC_WS_URL",
    placeholder: "URL",
    help: "WebSocket URL of the chain's node, which announces new blocks at once.",
    defaultText: "none; the service polls for new blocks",
    parse: url("ws:", "wss:"),
  },
  chainId: {
    flag: "chain-id",
    env: "GAS_WAIVER_CHAIN_ID",
    placeholder: "ID",
    help: "Id of the chain: 988 mainnet, 2201 testnet and devnet.",
    required: true,
    parse: wholeNumber(1),
  },
  skipNodeCheck: {
    flag: "skip-node-check",
    env: "GAS_WAIVER_SKIP_NODE_CHECK",
    help: "Start although `gas-waiver node check` would refuse the nodes, for operators who know better.",
    parse: switchedOn,
  },
  allowedTargets: {
    flag: "allowed-targets",
    env: "GAS_WAIVER_ALLOWED_TARGETS",
    placeholder: "FILE",
    help: 'JSON file of the targets that the service may call, or the JSON itself: [{"address": "0x…" or "*", "selectors": ["0x…"]}].',
    defaultText: "what the chain's registry permits to the waivers",
    parse: allowedTargetsOrFile,
  },
  policySource: {
    flag: "policy-source",
    env: "GAS_WAIVER_POLICY_SOURCE",
    placeholder: "SOURCE",
    help: "Source of the policy: registry; config (--allowed-targets); or both, for what both permit.",
    defaultText: "config with --allowed-targets, otherwise registry",
    parse: policySource,
  },
  verificationGas: {
    flag: "verification-gas",
    env: "GAS_WAIVER_VERIFICATION_GAS",
    placeholder: "GAS",
    help: "Gas of each wrapper for unwrapping and verification, at least what the chain's validators count.",
    defaultText: "50000",
    parse: withForm({ kind: "integer", minimum: 0 }, (value) => BigInt(wholeNumber(0)(value))),
  },
  innerEncoding: {
    flag: "inner-encoding",
    env: "GAS_WAIVER_INNER_ENCODING",
    placeholder: "FORM",
    help: "Form of a typed InnerTx in a wrapper: envelope, or rlp for an RLP string around it.",
    defaultText: "envelope",
    parse: oneOf(...INNER_ENCODINGS),
  },
} as const;
