import {
  bytesToHex,
  hashTransaction,
  highestGasPrice,
  ProtocolError,
  parseInnerTx,
} from "@gas-waiver/protocol";
import type { Intake } from "../intake/intake.js";
import type { Caller } from "../model/caller.js";
import type { ResolvedOptions } from "../model/options.js";
import { invalidParams } from "./jsonRpc.js";
import type { NodeReader } from "./nodeReader.js";
import { refusalFor } from "./words.js";

export interface RawTransactionDependencies {
  readonly intake: Pick<Intake, "submit">;
  readonly node: Pick<NodeReader, "send">;
  /** Takes the tokens of submissions from the key's rate (D22). */
  readonly rateLimiter: SubmissionRate;
  readonly options: Pick<ResolvedOptions, "gatewayWait" | "gatewayPaid">;
}

export interface SubmissionRate {
  /** @throws {@link ProtocolError} `RATE_EXCEEDED`. */
  take(caller: Caller, count: number): Promise<{ refund(): void }>;
}

/** Serves `eth_sendRawTransaction`. A transaction of price 0 is a submission (D19); the same one sent again is the same (D18). */
export function createRawTransactionSender(dependencies: RawTransactionDependencies) {
  const { node, options } = dependencies;
  return async ([raw]: readonly unknown[], caller: Caller): Promise<unknown> => {
    if (typeof raw !== "string") throw invalidParams("the signed transaction is missing");
    if (options.gatewayPaid === "pass" && isPaid(raw)) return await node.send(raw, caller);
    return await submit(raw, caller, dependencies);
  };
}

/** Tells a transaction that pays for itself. One that cannot be read is not: to refuse it needs no node. */
function isPaid(raw: string): boolean {
  try {
    return highestGasPrice(parseInnerTx(raw)) !== 0n;
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    // Types that can never be gas-waived, such as blob transactions, always pay.
    return error.reason === "UNSUPPORTED_TYPE";
  }
}

/**
 * @returns the hash as soon as the node has the transaction, or, with `gatewayWait` "included", when a block has it.
 * @throws {@link GatewayRefusal} if the transaction is refused or fails.
 */
async function submit(
  raw: string,
  caller: Caller,
  { intake, rateLimiter, options }: RawTransactionDependencies,
): Promise<string> {
  const tokens = await rateLimiter.take(caller, 1);
  const lines = await intake.submit(caller, [raw], options.gatewayWait, { refund: () => tokens.refund() });
  for await (const [line] of lines) {
    if (line === undefined) continue;
    if (line.success) return line.txHash;
    const { error, id } = line;
    // The service has accepted a lone transaction before its first line, so after a time-out the submission goes on. One
    // that reverted is in a block. In both cases the hash is what a wallet needs.
    if (error.code === "TIMEOUT" || error.reason === "REVERTED")
      return bytesToHex(hashTransaction(parseInnerTx(raw)));
    throw refusalFor(error, id);
  }
  throw new Error("the request has no line");
}
