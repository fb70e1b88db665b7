import { status } from "../actions/status.js";
import { WalletCallsError } from "../errors.js";
import type { Connection } from "../http/connection.js";
import { type CallBundle, type CallBundles, createCallBundles } from "./callBundles.js";
import { readCallRequest } from "./callRequest.js";
import type { Eip1193Provider } from "./eip1193.js";
import { type GatewayRefusal, gatewayRefusal } from "./gatewayRefusal.js";

/** The wallet and the service behind the methods of EIP-5792. */
export interface WalletCallsDependencies {
  readonly wallet: Eip1193Provider;
  /** The gasless chain's id, as hex. */
  readonly chainId: string;
  /** Has the wallet sign and send one transaction without gas. @returns its hash. */
  readonly send: (transaction: object) => Promise<unknown>;
  /** The service that has the records. */
  readonly connection: Connection;
  readonly bundles?: CallBundles;
}

/** A method of the provider. */
type Method = (params: unknown) => Promise<unknown>;

const VERSION = "2.0.0";

/**
 * Answers the methods of EIP-5792 in front of a wallet that sends single transactions: a bundle is one transaction for each
 * call, in sequence. It is not atomic, and its status says so.
 */
export function createWalletCalls(dependencies: WalletCallsDependencies): ReadonlyMap<string, Method> {
  const { wallet, chainId, bundles = createCallBundles() } = dependencies;
  /** The ids of the bundles for which the user is still being asked. */
  const sending = new Set<string>();
  const sendCalls = async (params: unknown) => {
    const { id = randomId(), from, calls } = readCallRequest(params, chainId);
    if (sending.has(id) || bundles.read(id))
      throw new WalletCallsError(5720, "a bundle of this page has that id already");
    const sender = await accountOf(wallet, from);
    sending.add(id);
    try {
      const transactions = calls.map((call) => ({ ...call, from: sender }));
      await sendInSequence(dependencies, bundles, id, transactions);
    } finally {
      sending.delete(id);
    }
    return { id };
  };
  const getCallsStatus = async (params: unknown) => {
    const { id, bundle } = findBundle(bundles, params);
    const outcomes = await Promise.all(bundle.hashes.map((hash) => readOutcome(dependencies, hash)));
    return { version: VERSION, id, chainId, atomic: false, ...summary(bundle, outcomes, sending.has(id)) };
  };
  const showCallsStatus = async (params: unknown) => {
    findBundle(bundles, params);
    throw new WalletCallsError(4200, "the page shows the status: wallet_getCallsStatus tells it");
  };
  const getCapabilities = async (params: unknown) => {
    const [address, chainIds] = (Array.isArray(params) ? params : []) as [unknown, unknown];
    await accountOf(wallet, address);
    const isAsked = !Array.isArray(chainIds) || chainIds.includes(chainId);
    return isAsked
      ? { [chainId]: { atomic: { status: "unsupported" }, paymasterService: { supported: true } } }
      : {};
  };
  return new Map<string, Method>([
    ["wallet_sendCalls", sendCalls],
    ["wallet_getCallsStatus", getCallsStatus],
    ["wallet_showCallsStatus", showCallsStatus],
    ["wallet_getCapabilities", getCapabilities],
  ]);
}

function findBundle(bundles: CallBundles, params: unknown): { id: string; bundle: CallBundle } {
  const id: unknown = Array.isArray(params) ? params[0] : undefined;
  if (typeof id !== "string") throw new WalletCallsError(-32602, "the parameter is the id of a bundle");
  const bundle = bundles.read(id);
  if (bundle === undefined) throw new WalletCallsError(5730, "no bundle of this page has that id");
  return { id, bundle };
}

/**
 * Sends one after the other: the wallet counts its nonces itself. What a user refuses ends the bundle.
 * @throws the wallet's error if nothing was sent; afterwards the status tells that calls are missing.
 */
async function sendInSequence(
  { send }: WalletCallsDependencies,
  bundles: CallBundles,
  id: string,
  calls: readonly object[],
): Promise<void> {
  const at = Date.now();
  const hashes: string[] = [];
  bundles.write(id, { calls: calls.length, hashes, at });
  for (const call of calls) {
    try {
      hashes.push(String(await send(call)));
    } catch (error) {
      if (hashes.length === 0) {
        bundles.delete(id);
        throw error;
      }
      bundles.write(id, { calls: calls.length, hashes, unsent: causeOf(error), at });
      return;
    }
    bundles.write(id, { calls: calls.length, hashes, at });
  }
}

/** Returns the service's reason, or the wallet's words. */
function causeOf(error: unknown): NonNullable<CallBundle["unsent"]> {
  const { reason = "NOT_SENT", message } =
    gatewayRefusal(error) ?? (Object(error) as Partial<GatewayRefusal>);
  return { reason, message: String(message) };
}

/**
 * Returns the account that a request names, or the wallet's first one.
 * @throws WalletCallsError 4100 if the wallet has not connected it to the page.
 */
async function accountOf(wallet: Eip1193Provider, address: unknown): Promise<string> {
  const answer = await wallet.request({ method: "eth_accounts" });
  const accounts = Array.isArray(answer) ? answer.map(String) : [];
  const wanted = typeof address === "string" ? address.toLowerCase() : accounts[0]?.toLowerCase();
  const account = accounts.find((one) => one.toLowerCase() === wanted);
  if (account !== undefined) return account;
  throw new WalletCallsError(4100, "the wallet has not connected this account to the page");
}

/** A receipt, with the members that EIP-5792 asks for. */
interface CallReceipt {
  readonly status: string;
  readonly [member: string]: unknown;
}

/** The outcome of one transaction. */
type Outcome =
  | { readonly state: "pending" }
  | { readonly state: "included"; readonly receipt: CallReceipt }
  | { readonly state: "failed"; readonly reason: string | undefined; readonly message: string | undefined };

/** The chain has the receipts. Only the service's record tells that there will be none. */
async function readOutcome({ wallet, connection }: WalletCallsDependencies, hash: string): Promise<Outcome> {
  const answer = await wallet.request({ method: "eth_getTransactionReceipt", params: [hash] });
  if (answer != null) return { state: "included", receipt: callReceipt(answer as CallReceipt) };
  const { state, error } = await status(connection, hash);
  if (state !== "failed") return { state: "pending" };
  return { state, reason: error?.reason, message: error?.message };
}

function callReceipt(receipt: CallReceipt): CallReceipt {
  const { logs, status, blockHash, blockNumber, gasUsed, transactionHash } = receipt;
  const ofLog = ({ address, data, topics }: Record<string, unknown>) => ({ address, data, topics });
  return {
    logs: Array.isArray(logs) ? logs.map(ofLog) : [],
    ...{ status, blockHash, blockNumber, gasUsed, transactionHash },
  };
}

/** Makes the status code, the receipts in the order of the calls, and why calls have none. */
function summary(bundle: CallBundle, outcomes: readonly Outcome[], isSending: boolean) {
  const receipts = outcomes.flatMap((one) => (one.state === "included" ? [one.receipt] : []));
  const failures = outcomes.flatMap((one, call) =>
    one.state === "failed" ? [{ call, reason: one.reason, message: one.message }] : [],
  );
  for (let call = outcomes.length; call < bundle.calls && !isSending; call++)
    failures.push({ call, ...(bundle.unsent ?? { reason: "NOT_SENT", message: "this call was not sent" }) });
  const isPending = isSending || outcomes.some(({ state }) => state === "pending");
  return {
    status: isPending ? 100 : finalStatus(receipts, failures.length),
    ...(receipts.length > 0 && { receipts }),
    ...(failures.length > 0 && { capabilities: { gasWaiver: { failures } } }),
  };
}

/** The codes of EIP-5792 for a bundle of which nothing is under way. */
function finalStatus(receipts: readonly CallReceipt[], missing: number): 200 | 400 | 500 | 600 {
  if (receipts.length === 0) return 400;
  const succeeded = receipts.filter(({ status }) => status === "0x1").length;
  if (succeeded === 0) return 500;
  return succeeded === receipts.length && missing === 0 ? 200 : 600;
}

/** EIP-5792: 32 bytes as hex, unique. */
function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return `0x${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
