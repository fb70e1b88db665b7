import {
  broadcast,
  hashOf,
  WaiverClientError,
  type WrapOptions,
  wrap as wrapTransaction,
} from "@gas-waiver/client/self-hosted";
import {
  bytesEqual,
  bytesToHex,
  checksumAddress,
  type Hex,
  ProtocolError,
  type WaiverAccount,
} from "@gas-waiver/protocol";
import { type Context, defineCommand } from "../command.js";
import { CommandFailedError } from "../errorMessage.js";
import { CHAIN_ID_SETTING, JsonRpcClient, NODE_URL_SETTING, type Receipt } from "../jsonRpcClient.js";
import { tableLines } from "../output/table.js";
import { SERVE_SETTINGS } from "../serve/serveSettings.js";
import { address, oneOf, wholeNumber } from "../settings/parsers.js";
import { type Values, withoutUndefined } from "../settings/setting.js";
import { TRANSACTION, TRANSACTION_SETTINGS, transactionsOf } from "../submit/transactionSettings.js";
import { CUSTODY, CUSTODY_SETTINGS, problemsOfCustody, splitCustody } from "../waivers/custodies.js";
import { openWaivers } from "../waivers/openWaivers.js";

const SETTINGS = {
  ...TRANSACTION_SETTINGS,
  ...CUSTODY_SETTINGS,
  waiver: {
    placeholder: "ADDRESS",
    help: "The waiver that signs, where the custody has several.",
    parse: address,
  },
  rpcUrl: {
    ...NODE_URL_SETTING,
    help: "JSON-RPC of the node that gets the wrappers, and that tells chain and nonce.",
  },
  print: {
    help: "Print the signed wrappers and send nothing. With --nonce and --chain-id no node is needed.",
  },
  nonce: {
    placeholder: "N",
    help: "The waiver's nonce for the first wrapper; the others follow.",
    defaultText: "the next one by the node, with what is in its pool",
    parse: (text: string) => BigInt(wholeNumber(0)(text)),
  },
  chainId: { ...CHAIN_ID_SETTING, help: "Id of the chain." },
  verificationGas: SERVE_SETTINGS.verificationGas,
  innerEncoding: SERVE_SETTINGS.innerEncoding,
  wait: {
    placeholder: "STAGE",
    help: "End when the node has them (broadcast), or when all are in blocks (included).",
    defaultValue: "broadcast",
    parse: oneOf("broadcast", "included"),
  },
  json: { help: "Print a line of JSON for each transaction." },
} as const;

type WrapValues = Values<typeof SETTINGS>;

export const wrap = defineCommand({
  description:
    "All transactions are wrapped before one is sent, and sent in their order. The rules that need no policy are checked; the\n" +
    "validators check the waiver's targets. Use a key that no service uses: a lane stops when something else sends with its\n" +
    "key. After an unclear answer, look for the wrapper's hash before you use its nonce again.",
  examples: [
    "gas-waiver wrap --waiver-keystore keystore --rpc-url http://127.0.0.1:8545 0x…",
    "gas-waiver wrap --waiver-key-file waiver.key --print --nonce 7 --chain-id 2201 0x…   # without a network",
  ],
  failure: "a transaction is not taken by the node, or has reverted",
  settings: SETTINGS,
  requires: [TRANSACTION, CUSTODY],
  check: (values) => [...problemsOfCustody(values), ...problemsOfNode(values)],
  async run(values, context) {
    const { custody } = splitCustody(values);
    const { rpcUrl, print: printOnly, wait, json } = values;
    // Without a node, what it would be asked for is given.
    const node = new JsonRpcClient(rpcUrl ?? [], context.signal);
    const chainId = values.chainId ?? (await node.quantity("eth_chainId"));
    const waivers = await openWaivers({ ...custody, chainId: Number(chainId) }, context);
    const waiver = chosenWaiver(waivers, values);
    const from = bytesToHex(waiver.address);
    const firstNonce = values.nonce ?? (await node.quantity("eth_getTransactionCount", [from, "pending"]));
    const { verificationGas, innerEncoding } = values;
    const settings = withoutUndefined({ chainId, verificationGas, innerEncoding });
    const wrapped = await wrapAll(transactionsOf(values), waiver, firstNonce, settings);
    if (!printOnly && rpcUrl !== undefined) await sendAll(wrapped, rpcUrl, context.signal);
    const receipts =
      printOnly || wait === "broadcast"
        ? []
        : await Promise.all(wrapped.map(({ txHash }) => node.inclusion(txHash)));
    printWrapped(wrapped, receipts, { json, printOnly }, context);
    const reverted = receipts.filter(hasReverted).length;
    if (reverted > 0)
      throw new CommandFailedError(`${reverted} of ${wrapped.length} transaction(s) have reverted`);
  },
});

function problemsOfNode({ rpcUrl, print, nonce, chainId }: Partial<WrapValues>): string[] {
  if (rpcUrl !== undefined) return [];
  if (!print) return ["--rpc-url is missing: give the node that gets the wrappers, or --print"];
  return nonce === undefined || chainId === undefined
    ? ["--print without --rpc-url needs --nonce and --chain-id"]
    : [];
}

function chosenWaiver(waivers: readonly WaiverAccount[], { waiver }: WrapValues): WaiverAccount {
  const [only, ...others] = waiver
    ? waivers.filter((account) => bytesEqual(account.address, waiver))
    : waivers;
  if (only === undefined) {
    const name = waiver ? checksumAddress(waiver) : "any waiver";
    throw new CommandFailedError(`the custody has no key of ${name}`);
  }
  if (others.length > 0)
    throw new CommandFailedError("the custody has several keys: choose one with --waiver");
  return only;
}

const COLUMNS = [
  { title: "nonce", isNumber: true },
  { title: "transaction", shortens: true },
  { title: "wrapper", shortens: true },
  { title: "state" },
];

function printWrapped(
  wrapped: readonly Wrapped[],
  receipts: readonly Receipt[],
  { json, printOnly }: Pick<Partial<WrapValues>, "json"> & { readonly printOnly: boolean | undefined },
  { print, terminal }: Context,
): void {
  if (json) {
    for (const [i, { nonce, ...hashes }] of wrapped.entries()) {
      const receipt = receipts[i];
      const outcome = receipt && {
        blockNumber: String(BigInt(receipt.blockNumber)),
        reverted: hasReverted(receipt),
      };
      print(JSON.stringify({ ...hashes, nonce: nonce.toString(), sent: !printOnly, ...outcome }));
    }
  } else if (printOnly) for (const { wrapper } of wrapped) print(wrapper);
  else {
    const rows = wrapped.map(({ nonce, txHash, wrapperHash }, i) => [
      ...[String(nonce), txHash, wrapperHash],
      stateOf(receipts[i]),
    ]);
    for (const line of tableLines(COLUMNS, rows, terminal)) print(line);
  }
}

const hasReverted = ({ status }: Receipt) => BigInt(status) === 0n;

function stateOf(receipt: Receipt | undefined) {
  if (receipt === undefined) return { text: "sent", tone: "good" } as const;
  const blockNumber = BigInt(receipt.blockNumber);
  return hasReverted(receipt)
    ? ({ text: `reverted in block ${blockNumber}`, tone: "bad" } as const)
    : ({ text: `in block ${blockNumber}`, tone: "good" } as const);
}

export interface Wrapped {
  /** The hash of the user's transaction. */
  readonly txHash: Hex;
  readonly wrapperHash: Hex;
  /** The waiver's nonce. */
  readonly nonce: bigint;
  /** The signed wrapper. */
  readonly wrapper: Hex;
}

/**
 * Wraps all transactions before any is sent, so that one that cannot be wrapped leaves no gap among the waiver's nonces.
 * @throws {@link CommandFailedError} with the rule that a transaction breaks.
 */
async function wrapAll(
  transactions: readonly string[],
  waiver: WaiverAccount,
  firstNonce: bigint,
  settings: Omit<WrapOptions, "nonce">,
): Promise<Wrapped[]> {
  const all: Wrapped[] = [];
  for (const [i, signed] of transactions.entries()) {
    const nonce = firstNonce + BigInt(i);
    try {
      const wrapper = await wrapTransaction(signed, waiver, { ...settings, nonce });
      all.push({ txHash: hashOf(signed), wrapperHash: hashOf(wrapper), nonce, wrapper });
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      throw new CommandFailedError(
        `transaction ${i + 1}: ${error.reason}: ${error.message}; nothing was sent`,
      );
    }
  }
  return all;
}

/**
 * Sends wrappers in the order of their nonces, and ends at the first that the node does not take, because the later ones
 * would wait behind its nonce.
 * @throws {@link CommandFailedError} with the node's answer.
 */
export async function sendAll(
  wrappers: readonly Wrapped[],
  rpcUrl: string,
  signal: AbortSignal,
): Promise<void> {
  for (const [i, { wrapper, wrapperHash, nonce }] of wrappers.entries()) {
    try {
      await broadcast(rpcUrl, wrapper, { signal });
    } catch (error) {
      if (!(error instanceof WaiverClientError)) throw error;
      const isUnclear = "certainty" in error && error.certainty === "unknown";
      const advice = isUnclear
        ? `; the node may have it: look for ${wrapperHash} before nonce ${nonce} is used again`
        : "";
      throw new CommandFailedError(
        `transaction ${i + 1} (nonce ${nonce}): ${error.message}; ${i} of ${wrappers.length} were sent before it${advice}`,
        { cause: error },
      );
    }
  }
}
