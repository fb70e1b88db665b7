import {
  bytesToHex,
  type Hex,
  hashTransaction,
  highestGasPrice,
  ProtocolError,
  parseInnerTx,
  type ResultLine,
  recoverSender,
} from "@gas-waiver/protocol";
import type { Intake } from "../intake/intake.js";
import type { Caller } from "../model/keys/caller.js";
import type { ResolvedOptions } from "../model/options/options.js";
import type { LineGroup } from "../results/resultLine.js";
import { GatewayRefusal, invalidParams, RPC_CODES } from "./jsonRpc.js";
import type { NodeReader } from "./nodeReader.js";
import type { Exchange } from "./toldAnswers.js";
import { refusalFor } from "./words.js";

export interface RawTransactionDependencies {
  readonly intake: Pick<Intake, "submit" | "watch">;
  readonly node: Pick<NodeReader, "send">;
  /** Takes the tokens of submissions from the key's rate (D22). */
  readonly rateLimiter: SubmissionRate;
  readonly options: Pick<ResolvedOptions, "gatewayWait" | "gatewayPaid">;
  /** `eth_getTransactionCount`. */
  transactionCount(params: readonly unknown[], caller: Caller): Promise<unknown>;
}

export interface SubmissionRate {
  /** @throws {@link ProtocolError} `RATE_EXCEEDED`. */
  take(caller: Caller, count: number): Promise<{ refund(): void }>;
}

/**
 * Serves `eth_sendRawTransaction`. A transaction of price 0 is a submission (D19), and the same one sent again is the same (D18).
 * Once an answer with the hash has left, the same bytes get the words of a node. A client that cached a nonce meant another
 * transaction: ethers answers `eth_getTransactionCount` from memory for 250 ms.
 */
export function createRawTransactionSender(dependencies: RawTransactionDependencies) {
  const { node, options } = dependencies;
  return async ([raw]: readonly unknown[], caller: Caller, exchange: Exchange): Promise<unknown> => {
    if (typeof raw !== "string") throw invalidParams("the signed transaction is missing");
    if (options.gatewayPaid === "pass" && isPaid(raw)) return await node.send(raw, caller);
    const { id, txHash } = await submit(raw, caller, dependencies);
    if (exchange.tell(id)) return txHash;
    const message = `already known: ${txHash} was accepted before, and an answer with its hash has left`;
    throw new GatewayRefusal(RPC_CODES.serverError, message, { id, txHash });
  };
}

/** Tells a transaction that pays for itself. One that cannot be read is not: to refuse it needs no node. */
function isPaid(raw: string): boolean {
  try {
    return highestGasPrice(parseInnerTx(raw)) !== 0n;
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    // Types that can never be gas-waived, such as blob transactions, always pay.
    return error.reason === "UNSUPPORTED_TYPE" || error.reason === "CUSTOM_TX_UNSUPPORTED";
  }
}

/**
 * The time within which a client has its answer. viem and web3j give up after 10 s, and whoever then sends once more sends
 * another transaction, because the pending nonce counts the first.
 */
const ANSWER_WITHIN_MS = 8_000;

/**
 * @returns the submission with its hash as soon as the node has the transaction, or, with `gatewayWait` "included", when a block has it.
 * @throws {@link GatewayRefusal} if the transaction is refused or fails.
 */
async function submit(
  raw: string,
  caller: Caller,
  dependencies: RawTransactionDependencies,
): Promise<{ readonly id: string; readonly txHash: string }> {
  const { intake, rateLimiter, options } = dependencies;
  const tokens = await rateLimiter.take(caller, 1);
  // An operator who wants the answer after the block accepts that clients wait for it.
  const timeoutMs = options.gatewayWait === "broadcast" ? ANSWER_WITHIN_MS : undefined;
  const terms = { refund: () => tokens.refund(), timeoutMs };
  let line = await firstLineOf(intake.submit(caller, [raw], options.gatewayWait, terms));
  if (isTimeout(line) && timeoutMs !== undefined && (await hasNonceGap(raw, caller, dependencies)))
    line = await firstLineOf(intake.watch(caller, [hashOf(raw)], options.gatewayWait));
  const { id } = line;
  if (line.success) return { id, txHash: line.txHash };
  // The service has accepted a lone transaction before its first line, so after a time-out the submission goes on. One that
  // reverted is in a block. In both cases the hash is what a wallet needs.
  if (isTimeout(line) || line.error.reason === "REVERTED") return { id, txHash: hashOf(raw) };
  throw refusalFor(line.error, id);
}

async function firstLineOf(lines: Promise<AsyncIterable<LineGroup>>): Promise<ResultLine> {
  for await (const [line] of await lines) if (line !== undefined) return line;
  throw new Error("the request has no line");
}

function isTimeout(line: ResultLine): boolean {
  return !line.success && line.error.code === "TIMEOUT";
}

function hashOf(raw: string): Hex {
  return bytesToHex(hashTransaction(parseInnerTx(raw)));
}

/** Tells whether an earlier nonce of the sender is missing, so that the transaction may fail soon. Unknown is no. */
async function hasNonceGap(
  raw: string,
  caller: Caller,
  { transactionCount }: RawTransactionDependencies,
): Promise<boolean> {
  const tx = parseInnerTx(raw);
  const sender = bytesToHex(recoverSender(tx));
  const next = await transactionCount([sender, "pending"], caller).catch(() => undefined);
  return typeof next === "string" && BigInt(next) <= tx.nonce;
}
