import {
  bytesToHex,
  type Hex,
  hashTransaction,
  highestGasPrice,
  ProtocolError,
  parseInnerTx,
  type ResultLine,
  recoverSender,
  type Wait,
} from "@gas-waiver/protocol";
import { toQuantity } from "../chain/client/calls.js";
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
  readonly node: Pick<NodeReader, "read" | "send">;
  /** Takes the tokens of submissions from the key's rate (D22). */
  readonly rateLimiter: SubmissionRate;
  readonly options: Pick<ResolvedOptions, "gatewayWait" | "gatewayPaid" | "requestTimeoutMs">;
  /** `eth_getTransactionCount`. */
  transactionCount(params: readonly unknown[], caller: Caller): Promise<unknown>;
}

export interface SubmissionRate {
  /** @throws {@link ProtocolError} `RATE_EXCEEDED`. */
  take(caller: Caller, count: number): Promise<{ refund(): void }>;
}

/**
 * Serves `eth_sendRawTransaction` and `eth_sendRawTransactionSync`. A transaction of price 0 is a submission (D19), and the same one
 * sent again is the same (D18). Once an answer with the hash has left, the same bytes get the words of a node. A client that cached
 * a nonce meant another transaction: ethers answers `eth_getTransactionCount` from memory for 250 ms.
 */
export function createRawTransactionSender(dependencies: RawTransactionDependencies) {
  const { node, options } = dependencies;
  const assertUntold = ({ id, txHash }: Sent, exchange: Exchange) => {
    if (exchange.tell(id)) return;
    const message = `already known: ${txHash} was accepted before, and an answer with its hash has left`;
    throw new GatewayRefusal(RPC_CODES.serverError, message, { id, txHash });
  };
  return {
    async send([raw]: readonly unknown[], caller: Caller, exchange: Exchange): Promise<unknown> {
      const text = textOf(raw);
      if (options.gatewayPaid === "pass" && isPaid(text)) return await node.send(text, caller);
      const { gatewayWait: wait } = options;
      // An operator who wants the answer after the block accepts that clients wait for it.
      const sent = await submit(text, caller, dependencies, {
        wait,
        ...(wait === "broadcast" && { usualMs: ANSWER_WITHIN_MS }),
      });
      assertUntold(sent, exchange);
      return sent.txHash;
    },
    /** EIP-7966: answers with the receipt, or with the hash when the client's time is over. The node's own transactions have no such wait. */
    async sendSync([raw, time]: readonly unknown[], caller: Caller, exchange: Exchange): Promise<unknown> {
      const chosenMs = chosenTime(time, options.requestTimeoutMs);
      const terms = { wait: "included", usualMs: ANSWER_WITHIN_MS, ...(chosenMs && { chosenMs }) } as const;
      const sent = await submit(textOf(raw), caller, dependencies, terms).catch(throwNonceGap);
      assertUntold(sent, exchange);
      const { txHash } = sent;
      const call = { method: "eth_getTransactionReceipt", params: [txHash] };
      // Another node may have told of the block.
      const receipt = sent.isOpen ? null : await node.read(call, caller, { fresh: true }).catch(() => null);
      if (receipt !== null) return receipt;
      const message = `timeout: ${txHash} is accepted, and its receipt is not there yet`;
      throw new GatewayRefusal(SYNC_CODES.timeout, message, txHash);
    },
  };
}

function textOf(raw: unknown): string {
  if (typeof raw === "string") return raw;
  throw invalidParams("the signed transaction is missing");
}

/** The codes of EIP-7966. The first has the hash as its data, the other one the nonce that is missing. */
const SYNC_CODES = { timeout: 4, nonceGap: 6 } as const;

/** Reads the time for which a client waits; undefined, as for nodes, if it is none. */
function chosenTime(time: unknown, maxMs: number): number | undefined {
  const isTime = typeof time === "number" || (typeof time === "string" && /^0x[0-9a-f]{1,8}$/i.test(time));
  const ms = isTime ? Number(time) : 0;
  return Number.isSafeInteger(ms) && ms > 0 ? Math.min(ms, maxMs) : undefined;
}

function throwNonceGap(error: unknown): never {
  const { reason, details } = Object(error instanceof GatewayRefusal ? error.data : undefined);
  if (reason !== "NONCE_GAP" || details?.missing === undefined) throw error;
  throw new GatewayRefusal(
    SYNC_CODES.nonceGap,
    (error as GatewayRefusal).message,
    toQuantity(BigInt(details.missing)),
  );
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

interface SendTerms {
  readonly wait: Wait;
  /** The time of the answer, beyond which only the end of a nonce gap is waited for. */
  readonly usualMs?: number;
  /** The time that the client has chosen. */
  readonly chosenMs?: number;
}

/** A submission that the service has accepted. */
interface Sent {
  readonly id: string;
  readonly txHash: string;
  /** Whether the time was over before what was waited for. */
  readonly isOpen: boolean;
}

/**
 * @returns the submission as soon as a node has the transaction, or when a block has it.
 * @throws {@link GatewayRefusal} if the transaction is refused or fails.
 */
async function submit(
  raw: string,
  caller: Caller,
  dependencies: RawTransactionDependencies,
  { wait, usualMs, chosenMs }: SendTerms,
): Promise<Sent> {
  const { intake, rateLimiter } = dependencies;
  const tokens = await rateLimiter.take(caller, 1);
  const terms = { refund: () => tokens.refund(), timeoutMs: chosenMs ?? usualMs };
  let line = await firstLineOf(intake.submit(caller, [raw], wait, terms));
  const mayWait = usualMs !== undefined && chosenMs === undefined;
  if (isTimeout(line) && mayWait && (await hasNonceGap(raw, caller, dependencies)))
    line = await firstLineOf(intake.watch(caller, [hashOf(raw)], wait));
  const { id } = line;
  if (line.success) return { id, txHash: line.txHash, isOpen: false };
  // The service has accepted a lone transaction before its first line, so after a time-out the submission goes on. One that
  // reverted is in a block. In both cases the hash is what a wallet needs.
  const isOpen = isTimeout(line);
  if (isOpen || line.error.reason === "REVERTED") return { id, txHash: hashOf(raw), isOpen };
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
