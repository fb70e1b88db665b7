import { intrinsicGas } from "@gas-waiver/protocol";
import { toQuantity } from "../chain/client/calls.js";
import type { Caller } from "../model/keys/caller.js";
import type { ResolvedOptions } from "../model/options/options.js";
import type { RecordDependencies } from "../results/records.js";
import { createHeldTransactions, type HeldTransactionDependencies } from "./heldTransactions.js";
import { boundedLogFilter } from "./logRange.js";
import type { NodeReader } from "./nodeReader.js";
import { bytesOf, objectAt, quantityOf } from "./params.js";
import { NO_PRICE, withoutBaseFee, withoutFees, withoutPrice } from "./prices.js";
import { createRawTransactionSender, type RawTransactionDependencies } from "./rawTransaction.js";
import { createRecordMethods } from "./records.js";
import { createSponsorship, type SponsorshipDependencies } from "./sponsorship.js";
import type { Exchange } from "./toldAnswers.js";

/** One method of the allow-list. */
export interface GatewayMethod {
  /** The reads that a call counts as. */
  readonly cost: number;
  /** @throws {@link GatewayRefusal} or ProtocolError. */
  answer(params: readonly unknown[], caller: Caller, exchange: Exchange): unknown;
}

export type GatewayMethods = ReadonlyMap<string, GatewayMethod>;

export type MethodDependencies = HeldTransactionDependencies &
  RecordDependencies &
  Omit<RawTransactionDependencies, "transactionCount"> &
  SponsorshipDependencies & {
    readonly node: NodeReader;
    readonly options: Pick<ResolvedOptions, "gatewayLogBlocks">;
    readonly version: string;
  };

/** The cost in reads of a call that runs code, and of one that may read a lot of the node's database. */
const EXECUTION = 4;
const SEARCH = 10;

/** The methods that go to the node as they are. Nothing of the node that is in no list can be reached. */
const PASSED: Readonly<Record<string, number>> = {
  eth_blockNumber: 1,
  eth_getBalance: 1,
  eth_getBlockReceipts: SEARCH,
  eth_getBlockTransactionCountByHash: 1,
  eth_getBlockTransactionCountByNumber: 1,
  eth_getCode: 1,
  eth_getProof: SEARCH,
  eth_getStorageAt: 1,
  eth_getTransactionByBlockHashAndIndex: 1,
  eth_getTransactionByBlockNumberAndIndex: 1,
  eth_getTransactionReceipt: 1,
  eth_getUncleCountByBlockHash: 1,
  eth_getUncleCountByBlockNumber: 1,
  eth_syncing: 1,
  web3_sha3: 1,
};

/** Makes the allow-list: every method that the gateway knows, and how it answers each. */
export function createMethods(dependencies: MethodDependencies): GatewayMethods {
  const { node, options } = dependencies;
  const passed = Object.entries(PASSED).map(([method, cost]): [string, GatewayMethod] => [
    method,
    { cost, answer: (params, caller) => node.pass({ method, params }, caller) },
  ]);
  const logs: GatewayMethod = {
    cost: SEARCH,
    async answer(params, caller) {
      const latest = async () =>
        quantityOf(await node.read({ method: "eth_blockNumber", params: [] }, caller), "the height") ?? 0n;
      const filter = await boundedLogFilter(params, options.gatewayLogBlocks, latest);
      return await node.pass({ method: "eth_getLogs", params: [filter] }, caller);
    },
  };
  return new Map<string, GatewayMethod>([
    ...passed,
    ...ownMethods(dependencies),
    ...pricedMethods(node),
    ["eth_getLogs", logs],
  ]);
}

/** The methods that need the service, or nothing at all. */
function ownMethods(dependencies: MethodDependencies): [string, GatewayMethod][] {
  const { chainId } = dependencies.options;
  const held = createHeldTransactions(dependencies);
  const records = createRecordMethods(dependencies);
  const sponsorship = createSponsorship(dependencies);
  const { send, sendSync } = createRawTransactionSender({ ...dependencies, ...held });
  const always = (result: unknown): GatewayMethod => ({ cost: 1, answer: () => result });
  return [
    ["eth_chainId", always(toQuantity(BigInt(chainId)))],
    ["net_version", always(String(chainId))],
    ["net_listening", always(true)],
    ["web3_clientVersion", always(`gas-waiver/${dependencies.version}`)],
    ["eth_accounts", always([])],
    ["eth_gasPrice", always(NO_PRICE)],
    ["eth_maxPriorityFeePerGas", always(NO_PRICE)],
    ["eth_getTransactionCount", { cost: 1, answer: held.transactionCount }],
    ["eth_getTransactionByHash", { cost: 1, answer: held.transactionByHash }],
    ["eth_sendRawTransaction", { cost: 1, answer: send }],
    ["eth_sendRawTransactionSync", { cost: 2, answer: sendSync }],
    ["pm_isSponsorable", { cost: 1, answer: sponsorship.isSponsorable }],
    ["pm_health", { cost: 1, answer: sponsorship.health }],
    ["pm_getSubmission", { cost: 1, answer: records.submission }],
    ["eth_getGaslessTransactionByHash", { cost: 1, answer: records.gaslessTransaction }],
    ["wallet_getCapabilities", { cost: 1, answer: sponsorship.capabilities }],
  ];
}

/** The methods of the node whose answers or parameters have prices. */
function pricedMethods(node: NodeReader): [string, GatewayMethod][] {
  const call = (method: string): [string, GatewayMethod] => [
    method,
    {
      cost: EXECUTION,
      answer: ([request, ...rest], caller) =>
        node.pass({ method, params: [withoutPrice(objectAt([request], 0, "the call")), ...rest] }, caller),
    },
  ];
  const block = (method: string): [string, GatewayMethod] => [
    method,
    {
      cost: EXECUTION,
      answer: (params, caller) => node.pass({ method, params }, caller, withoutBaseFee),
    },
  ];
  return [
    call("eth_call"),
    call("eth_createAccessList"),
    ["eth_estimateGas", { cost: EXECUTION, answer: (params, caller) => estimateGas(node, params, caller) }],
    block("eth_getBlockByHash"),
    block("eth_getBlockByNumber"),
    block("eth_getUncleByBlockHashAndIndex"),
    block("eth_getUncleByBlockNumberAndIndex"),
    [
      "eth_feeHistory",
      {
        cost: SEARCH,
        answer: (params, caller) => node.pass({ method: "eth_feeHistory", params }, caller, withoutFees),
      },
    ],
  ];
}

/** The node's estimate, but no less than the service's rules ask for (D3): older nodes do not know the floor of EIP-7623. */
async function estimateGas(
  node: NodeReader,
  [request, ...rest]: readonly unknown[],
  caller: Caller,
): Promise<unknown> {
  const call = withoutPrice(objectAt([request], 0, "the call"));
  const estimate = await node.read({ method: "eth_estimateGas", params: [call, ...rest] }, caller);
  const least = leastGas(call);
  return typeof estimate === "string" && BigInt(estimate) < least ? toQuantity(least) : estimate;
}

function leastGas({ to, data, input }: Record<string, unknown>): bigint {
  return intrinsicGas({
    to: to === undefined || to === null ? undefined : bytesOf(to, "`to`"),
    data: bytesOf(input ?? data ?? "0x", "`data`"),
  });
}
