import { createWaiverClient, type ResultLine, WaiverClientError } from "@gas-waiver/client";
import { DEV_API_KEY, devnetAccount, TEST_TOKEN } from "@gas-waiver/devnet";
import { bytesToHex, encodeCall, type Hex, hexToBytes, signTransaction } from "@gas-waiver/protocol";
import { CommandFailedError } from "../errorMessage.js";
import { JsonRpcClient, type Receipt } from "../jsonRpcClient.js";
import { inUnits } from "./accounts.js";
import { balanceOf, receiptOf, tokenBalanceOf, tokenDecimals, wrapperOf } from "./chainReader.js";

interface DemoOptions {
  /** The service's URL. */
  readonly url: string;
  readonly rpcUrl: string;
  readonly chainId: number;
  /** The waiver that signs the wrapper. */
  readonly waiver: Hex;
  readonly print: (line: string) => void;
  readonly signal: AbortSignal;
}

const AMOUNT = 25n;

/**
 * Sends one token transfer of a user without native balance, with the SDK through the public API, and prints each step.
 * @throws {@link CommandFailedError} if the transfer fails or an account pays for gas.
 */
export async function showGaslessTransfer({
  url,
  rpcUrl,
  chainId,
  waiver,
  print,
  signal,
}: DemoOptions): Promise<void> {
  const [user, friend] = [devnetAccount(0), devnetAccount(1)];
  const node = new JsonRpcClient(rpcUrl, signal);
  const holdings = () => holdingsOf(node, user.address, friend.address);

  const before = await holdings();
  const decimals = await tokenDecimals(node);
  const amount = AMOUNT * 10n ** BigInt(decimals);
  const inTokens = (units: bigint) => inUnits(units, decimals);
  const poor = before.native === 0n ? "and could not pay for gas" : "and will pay nothing for gas";
  print("");
  print("A gasless transfer");
  print(`  user       ${user.address} has ${before.native} wei ${poor}.`);
  print(`             It signs: ${AMOUNT} USDT0 to ${friend.address}, at gas price 0.`);
  const nonce = await node.quantity("eth_getTransactionCount", [user.address, "latest"]);
  const signed = signTransfer(user.privateKey, { chainId, nonce, recipient: friend.address, amount });
  const line = await submitOne(url, signed, signal);
  if (!line.success) throw new CommandFailedError(`the gasless transfer failed: ${line.error.message}`);
  const inner = await receiptOf(node, line.txHash as Hex);
  const wrapper = await wrapperOf(node, inner);
  const after = await holdings();

  print(`  service    accepted it as submission ${line.id};`);
  print(`             waiver ${waiver} wrapped it, block ${Number(inner.blockNumber)} has both:`);
  printReceipt("wrapper", wrapper, print);
  printReceipt("inner", inner, print);
  const changes: Change[] = [
    ["user's native", `${before.native} wei`, `${after.native} wei`],
    ["user's USDT0", inTokens(before.user), inTokens(after.user)],
    ["recipient's USDT0", inTokens(before.friend), inTokens(after.friend)],
  ];
  for (const row of balanceTable(changes)) print(row);
  print("");
  assertGasless(inner, wrapper);
}

async function holdingsOf(node: JsonRpcClient, user: Hex, friend: Hex) {
  const [native, userTokens, friendTokens] = await Promise.all([
    balanceOf(node, user),
    tokenBalanceOf(node, user),
    tokenBalanceOf(node, friend),
  ]);
  return { native, user: userTokens, friend: friendTokens };
}

interface Transfer {
  readonly chainId: number;
  readonly nonce: bigint;
  readonly recipient: Hex;
  /** In the token's smallest unit. */
  readonly amount: bigint;
}

function signTransfer(privateKey: Hex, { chainId, nonce, recipient, amount }: Transfer): Hex {
  const { raw } = signTransaction(
    {
      type: "legacy",
      chainId: BigInt(chainId),
      nonce,
      gasPrice: 0n,
      gasLimit: 100_000n,
      to: TEST_TOKEN,
      value: 0n,
      data: encodeCall("transfer(address,uint256)", hexToBytes(recipient), amount),
    },
    hexToBytes(privateKey),
  );
  return bytesToHex(raw);
}

async function submitOne(url: string, transaction: Hex, signal: AbortSignal): Promise<ResultLine> {
  const client = createWaiverClient({ url, apiKey: DEV_API_KEY });
  try {
    for await (const line of client.submit([transaction], { wait: "included", signal })) return line;
  } catch (error) {
    if (!(error instanceof WaiverClientError)) throw error;
    throw new CommandFailedError(`the gasless transfer failed: ${error.message}`, { cause: error });
  }
  throw new CommandFailedError("the service gave no result for the gasless transfer");
}

function printReceipt(name: string, receipt: Receipt, print: (line: string) => void): void {
  const price = BigInt(receipt.effectiveGasPrice);
  print(`  ${name.padEnd(11)}${receipt.transactionHash}`);
  print(`             from ${receipt.from}, gas used ${Number(receipt.gasUsed)}, gas price paid ${price}`);
}

function assertGasless(inner: Receipt, wrapper: Receipt): void {
  const paid = [inner, wrapper].some(({ effectiveGasPrice }) => BigInt(effectiveGasPrice) !== 0n);
  if (paid) throw new CommandFailedError("an account paid for gas");
  if (BigInt(inner.status) !== 1n) throw new CommandFailedError("the transfer reverted");
}

/** A line of the table: a name, and what an account has before and after. */
export type Change = readonly [name: string, before: string, after: string];

/** Lays out a table whose numbers stand apart, however long they are. */
export function balanceTable(changes: readonly Change[]): string[] {
  const width = Math.max(15, ...changes.flatMap(([, before, after]) => [before.length, after.length]));
  return [["", "before", "after"] as const, ...changes].map(
    ([name, before, after]) => `  ${name.padEnd(18)}${before.padStart(width)}${after.padStart(width + 6)}`,
  );
}
