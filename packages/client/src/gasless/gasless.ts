import { isSurelyNotAccepted } from "../actions/acceptance.js";
import { submit } from "../actions/submit.js";
import { StreamEndedError, SubmissionFailedError } from "../errors.js";
import { type Connection, type ConnectionOptions, createConnection } from "../http/connection.js";
import type { RetryOptions } from "../http/retry.js";
import { type NonceReservation, NonceSequence } from "./nonceSequence.js";

/** The address of the service, and how to send through it. */
export interface GaslessOptions extends ConnectionOptions {
  /** Sends again when the service is away or busy, as `retry` of `submit` does. Off by default. */
  readonly retry?: RetryOptions;
}

/** A call that a user makes. */
export interface GaslessCall {
  readonly to: string;
  /** 0x hex. */
  readonly data: string;
  /** The value in wei. */
  readonly value: bigint;
  /** The gas limit, in gas; estimated if absent. */
  readonly gas?: bigint | undefined;
  /** The sender's nonce; the lowest free one if absent. */
  readonly nonce?: number | undefined;
}

/** A legacy transaction of gas price 0, to be signed with its chain id (EIP-155). */
export interface GaslessTransaction extends GaslessCall {
  readonly chainId: number;
  readonly gas: bigint;
  readonly nonce: number;
}

/** The sender and the chain, as the adapters for viem and ethers give them. */
export interface GaslessSender {
  readonly address: string;
  chainId(): Promise<number>;
  /** Reads the sender's transaction count, those in the node's pool included. */
  transactionCount(): Promise<number>;
  /** Estimates the gas of a call from the sender at gas price 0. */
  estimateGas(call: GaslessCall): Promise<bigint>;
  /** Signs, and returns the signed bytes as 0x hex. */
  sign(transaction: GaslessTransaction): Promise<string>;
}

/** A transaction that a node of the chain has. */
export interface SentTransaction {
  /** The submission's id, for `status` and `wait`. */
  readonly id: string;
  readonly txHash: string;
  /** The signed bytes as 0x hex. */
  readonly signed: string;
}

/** The gas limit in percent of the estimate. The cost of a call may change between the estimate and its block. */
const GAS_MARGIN_PERCENT = 120n;

/** Returns the gas limit for an estimate, both in gas. */
export function withMargin(estimate: bigint): bigint {
  return (estimate * GAS_MARGIN_PERCENT) / 100n;
}

/** Sends users' calls through one service, and keeps each sender's nonces in sequence. */
export class Gasless {
  readonly #connection: Connection;
  readonly #retry: RetryOptions | undefined;
  readonly #sequences = new Map<string, NonceSequence>();

  constructor({ retry, ...connection }: GaslessOptions) {
    this.#connection = createConnection(connection);
    this.#retry = retry;
  }

  /**
   * Estimates, signs and submits, and waits until a node of the chain has the transaction.
   * @throws SubmissionFailedError if it failed or the wait for it timed out, another {@link WaiverClientError}, or an error of viem or ethers.
   */
  async send(sender: GaslessSender, call: GaslessCall): Promise<SentTransaction> {
    const prepared = prepare(sender, call);
    const attempt = async () => {
      const reservation = await this.#reserve(sender, call, prepared);
      return await this.#submit(await this.#sign(sender, call, prepared, reservation), reservation);
    };
    try {
      return await attempt();
    } catch (error) {
      // Signed again with another nonce, the call may be accepted.
      if (call.nonce !== undefined || !isNonceMismatch(error)) throw error;
      return await attempt();
    }
  }

  /**
   * Estimates, and chooses the nonce, without reserving it: the lowest one that neither the chain nor a call of this object has.
   * @throws an error of viem or ethers.
   */
  async prepare(sender: GaslessSender, call: GaslessCall): Promise<GaslessTransaction> {
    const prepared = prepare(sender, call);
    const reservation = await this.#reserve(sender, call, prepared);
    reservation.release();
    return { ...call, ...(await prepared), nonce: reservation.nonce };
  }

  /**
   * Estimates and signs. The nonce counts as used from then on, because the caller sends the transaction by itself.
   * @returns the signed bytes as 0x hex.
   * @throws an error of viem or ethers.
   */
  async sign(sender: GaslessSender, call: GaslessCall): Promise<string> {
    const prepared = prepare(sender, call);
    const reservation = await this.#reserve(sender, call, prepared);
    const signed = await this.#sign(sender, call, prepared, reservation);
    reservation.markUsed();
    return signed;
  }

  async #reserve(
    sender: GaslessSender,
    { nonce }: GaslessCall,
    prepared: Promise<Prepared>,
  ): Promise<NonceReservation> {
    // The promise is awaited when the nonce's turn comes. Until then a failure must not count as unhandled.
    prepared.catch(() => undefined);
    const sequence = this.#sequenceOf(sender.address);
    const count = () => sender.transactionCount();
    return nonce === undefined ? await sequence.reserve(count, prepared) : sequence.reserveChosen(nonce);
  }

  async #sign(
    sender: GaslessSender,
    call: GaslessCall,
    prepared: Promise<Prepared>,
    reservation: NonceReservation,
  ): Promise<string> {
    try {
      return await sender.sign({ ...call, ...(await prepared), nonce: reservation.nonce });
    } catch (error) {
      reservation.release();
      throw error;
    }
  }

  /**
   * Submits a signed transaction, and waits until a node of the chain has it.
   * @throws SubmissionFailedError if it failed or the wait for it timed out, or another {@link WaiverClientError}.
   */
  async submitSigned(signed: string): Promise<SentTransaction> {
    const retry = this.#retry;
    for await (const line of submit(this.#connection, [signed], retry && { retry })) {
      if (!line.success) throw new SubmissionFailedError(line.id, line.error);
      return { id: line.id, txHash: line.txHash, signed };
    }
    throw new StreamEndedError([0]);
  }

  async #submit(signed: string, reservation: NonceReservation): Promise<SentTransaction> {
    try {
      const sent = await this.submitSigned(signed);
      reservation.markUsed();
      return sent;
    } catch (error) {
      settleNonce(reservation, error);
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
 * Tells whether the service has given the transaction up for its nonce alone, and no wrapper of it may still land.
 * Then a transaction signed in its place cannot run in addition to it. NONCE_TOO_LOW does not prove that.
 */
function isNonceMismatch(error: unknown): boolean {
  const reason = error instanceof SubmissionFailedError ? error.reason : undefined;
  return reason === "NONCE_GAP" || reason === "NONCE_CONFLICT";
}

/** The reasons of a failure after which the nonce is used, by this or by another transaction. */
const NONCE_USED: ReadonlySet<unknown> = new Set(["REVERTED", "NONCE_TOO_LOW", "NONCE_CONFLICT"]);

function settleNonce(reservation: NonceReservation, error: unknown): void {
  if (error instanceof SubmissionFailedError) {
    if (error.reason === "NONCE_GAP") reservation.forgetUsed();
    // D17: only the waiting has ended; the service goes on with the transaction.
    else if (error.code === "TIMEOUT" || NONCE_USED.has(error.reason)) reservation.markUsed();
    else reservation.release();
    return;
  }
  if (isSurelyNotAccepted(error)) reservation.release();
  else reservation.markUsed();
}
