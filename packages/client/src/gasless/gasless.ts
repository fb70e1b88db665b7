import { submit } from "../actions/submit.js";
import {
  ConnectionFailedError,
  RequestRefusedError,
  StreamEndedError,
  SubmissionFailedError,
} from "../errors.js";
import { type Connection, type ConnectionOptions, createConnection } from "../http/connection.js";
import type { RetryOptions } from "../http/retry.js";
import { NonceSequence, type TakenNonce } from "./nonceSequence.js";

export interface GaslessOptions extends ConnectionOptions {
  /** See {@link SubmitOptions}: sends again when the service is away or busy. Off unless given. */
  readonly retry?: RetryOptions;
}

/** What a user wants done. */
export interface GaslessCall {
  readonly to: string;
  /** 0x hex. */
  readonly data: string;
  /** In wei. */
  readonly value: bigint;
  /** The gas limit; estimated if absent. */
  readonly gas?: bigint | undefined;
  /** The lowest free one if absent. */
  readonly nonce?: number | undefined;
}

/** A legacy transaction of gas price 0, to be signed with its chain id (EIP-155). */
export interface GaslessTransaction extends GaslessCall {
  readonly chainId: number;
  readonly gas: bigint;
  readonly nonce: number;
}

/** What a library knows of the sender and the chain. */
export interface GaslessSender {
  readonly address: string;
  chainId(): Promise<number>;
  /** How many transactions the sender has made, those in the node's pool included. */
  transactionCount(): Promise<number>;
  /** At gas price 0, from the sender. */
  estimateGas(call: GaslessCall): Promise<bigint>;
  /** The signed bytes as 0x hex. */
  sign(transaction: GaslessTransaction): Promise<string>;
}

export interface SentTransaction {
  /** The submission's id, for {@link status} and {@link wait}. */
  readonly id: string;
  readonly txHash: string;
  /** The signed bytes as 0x hex. */
  readonly signed: string;
}

/** In percent of the estimate: what a call costs may change between the estimate and its block. */
const GAS_MARGIN_PERCENT = 120n;

/** The gas limit for an estimate. */
export function withMargin(estimate: bigint): bigint {
  return (estimate * GAS_MARGIN_PERCENT) / 100n;
}

/** Sends calls for senders, over one service. Keeps each sender's nonces in sequence. */
export class Gasless {
  readonly #connection: Connection;
  readonly #retry: RetryOptions | undefined;
  readonly #sequences = new Map<string, NonceSequence>();

  constructor({ retry, ...connection }: GaslessOptions) {
    this.#connection = createConnection(connection);
    this.#retry = retry;
  }

  /**
   * Estimates, signs and submits, and waits until the chain's node has the transaction.
   * @throws SubmissionFailedError if it was refused, {@link WaiverClientError}, or what the library throws.
   */
  async send(sender: GaslessSender, call: GaslessCall): Promise<SentTransaction> {
    const sequence = this.#sequenceOf(sender.address);
    const prepared = prepare(sender, call);
    // It is awaited when the turn has come; until then nobody looks whether it fails.
    prepared.catch(() => undefined);
    const attempt = async () => {
      const { nonce } = call;
      const count = () => sender.transactionCount();
      const taken = nonce === undefined ? await sequence.take(count, prepared) : sequence.hold(nonce);
      return await this.#submit(await this.#sign(sender, call, prepared, taken), taken);
    };
    try {
      return await attempt();
    } catch (error) {
      // With another nonce it may be taken.
      if (call.nonce !== undefined || !isNonceMismatch(error)) throw error;
      return await attempt();
    }
  }

  async #sign(
    sender: GaslessSender,
    call: GaslessCall,
    prepared: Promise<Prepared>,
    taken: TakenNonce,
  ): Promise<string> {
    try {
      return await sender.sign({ ...call, ...(await prepared), nonce: taken.nonce });
    } catch (error) {
      taken.release();
      throw error;
    }
  }

  async #submit(signed: string, taken: TakenNonce): Promise<SentTransaction> {
    try {
      const retry = this.#retry;
      for await (const line of submit(this.#connection, [signed], retry && { retry })) {
        if (!line.success) throw new SubmissionFailedError(line.id, line.error);
        taken.keep();
        return { id: line.id, txHash: line.txHash, signed };
      }
      throw new StreamEndedError([0]);
    } catch (error) {
      settleNonce(taken, error);
      throw error;
    }
  }

  #sequenceOf(address: string): NonceSequence {
    const key = address.toLowerCase();
    const sequence = this.#sequences.get(key) ?? new NonceSequence();
    this.#sequences.set(key, sequence);
    return sequence;
  }
}

interface Prepared {
  readonly chainId: number;
  readonly gas: bigint;
}

async function prepare(sender: GaslessSender, call: GaslessCall): Promise<Prepared> {
  const [chainId, gas] = await Promise.all([
    sender.chainId(),
    call.gas ?? sender.estimateGas(call).then(withMargin),
  ]);
  return { chainId, gas };
}

/**
 * Has the service given the transaction up for its nonce alone, before anything was sent to the chain? Then it
 * cannot run besides one that is signed in its place. NONCE_TOO_LOW does not say that for sure.
 */
function isNonceMismatch(error: unknown): boolean {
  const reason = error instanceof SubmissionFailedError ? error.reason : undefined;
  return reason === "NONCE_GAP" || reason === "NONCE_CONFLICT";
}

/** The reasons of a failure after which the nonce is used, or is another transaction's. */
const NONCE_USED: ReadonlySet<unknown> = new Set(["REVERTED", "NONCE_TOO_LOW", "NONCE_CONFLICT"]);

function settleNonce(taken: TakenNonce, error: unknown): void {
  if (error instanceof SubmissionFailedError) {
    if (error.reason === "NONCE_GAP") taken.gap();
    // D17: the waiting ended, the work goes on.
    else if (error.code === "TIMEOUT" || NONCE_USED.has(error.reason)) taken.keep();
    else taken.release();
    return;
  }
  const untouched = error instanceof ConnectionFailedError && error.certainty === "not_sent";
  if (untouched || error instanceof RequestRefusedError) taken.release();
  else taken.keep();
}
