import { type AnySubmissionRecord, detailsOf } from "@gas-waiver/protocol/wire";
import {
  InvalidArgumentError,
  RequestRefusedError,
  SubmissionFailedError,
  WaiverClientError,
} from "../errors.js";
import { type Connection, type ConnectionOptions, createConnection } from "../http/connection.js";
import type { RetryOptions } from "../http/retry.js";
import { explainEstimate } from "./estimate.js";
import {
  type GaslessCall,
  type GaslessSender,
  type GaslessTransaction,
  isSamePayment,
  type PaidCall,
  type SentTransaction,
} from "./gaslessCall.js";
import { type NonceReservation, NonceSequences } from "./nonceSequence.js";
import { assertNotFailed, receiptOrFailure } from "./receiptOrFailure.js";
import { submitUntilKnown } from "./submitUntilKnown.js";

/** The address of the service, and how to send through it. */
export interface GaslessOptions extends ConnectionOptions {
  /**
   * The time, in milliseconds, in which a call finds out whether the service has its transaction: it sends the same bytes again
   * after an answer that was lost, and signs again where another program took its nonce. 60,000 by default.
   */
  readonly timeoutMs?: number | undefined;
  /** Sends again what the service has surely not accepted, because it is away or busy. Off by default. */
  readonly retry?: RetryOptions | undefined;
}

/** The gas limit in percent of the estimate. The cost of a call may change between the estimate and its block. */
const GAS_MARGIN_PERCENT = 120n;
const MOST_SALT = 4_096;

/**
 * Returns the gas limit for an estimate, both in gas. A random part sets the bytes of equal calls apart: two programs of one sender that
 * signed the same bytes would share one transaction, and each would take it for its own.
 */
export function withMargin(estimate: bigint): bigint {
  return (estimate * GAS_MARGIN_PERCENT) / 100n + BigInt(Math.floor(Math.random() * MOST_SALT));
}

/** Sends users' calls through one service, and keeps each sender's nonces in sequence. */
export class Gasless {
  readonly #connection: Connection;
  readonly #hashOf: (bytes: string) => string;
  readonly #timeoutMs: number;
  readonly #retry: RetryOptions | undefined;
  readonly #sequences = new NonceSequences();
  /** The signed bytes that a call with this idempotency key left in doubt, or is sending. */
  readonly #signedByKey = new Map<string, Promise<Signed>>();
  /** The transactions that the service may have, by their signed bytes. */
  readonly #inDoubt = new Map<string, Signed>();

  /** @param hashOf returns the Keccak-256 of bytes (both 0x hex). */
  constructor(
    { retry, timeoutMs = 60_000, ...connection }: GaslessOptions,
    hashOf: (bytes: string) => string,
  ) {
    this.#hashOf = hashOf;
    this.#connection = createConnection(connection);
    this.#timeoutMs = timeoutMs;
    this.#retry = retry;
  }

  /**
   * Estimates, signs and submits, and waits until a node of the chain has the transaction. A call whose bytes can never execute,
   * because another program took their nonce, is signed again with another one. A call whose name has paid before ends like
   * that payment.
   * @throws SubmissionFailedError if it failed, another {@link WaiverClientError}, or an error of viem or ethers. While `inDoubt` has
   * the bytes, only {@link submitSigned} with them pays once.
   */
  async send(sender: GaslessSender, call: GaslessCall): Promise<SentTransaction> {
    const prepared = prepare(sender, call);
    let endsAt: number | undefined;
    for (;;) {
      const signed = await this.#signOnce(sender, call, prepared);
      endsAt ??= performance.now() + this.#timeoutMs;
      try {
        return await this.#submit(signed, endsAt);
      } catch (error) {
        if (error instanceof RequestRefusedError && error.reason === "IDEMPOTENCY_KEY_REUSED")
          return await this.#earlier(sender, call, error);
        const isChosen = call.nonce !== undefined || call.idempotencyKey !== undefined;
        const isOver = error instanceof SubmissionFailedError && error.inDoubt.length === 0;
        const isRepeatable = !isChosen && isOver && isNonceMismatch(error.reason);
        if (!isRepeatable || performance.now() >= endsAt) throw error;
      }
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
    const { bytes, reservation } = await this.#sign(sender, call, prepare(sender, call));
    reservation?.markUsed();
    return bytes;
  }

  /**
   * Submits a signed transaction, and waits until a node of the chain has it.
   * @throws SubmissionFailedError if it failed, or another {@link WaiverClientError}.
   */
  async submitSigned(bytes: string): Promise<SentTransaction> {
    return await this.#submit(this.#inDoubt.get(bytes) ?? { bytes }, performance.now() + this.#timeoutMs);
  }

  /** See {@link receiptOrFailure}. */
  receiptOf<R>(txHash: string, read: () => Promise<R | null | undefined>, timeoutMs?: number): Promise<R> {
    return receiptOrFailure(this.#connection, txHash, read, timeoutMs);
  }

  /** See {@link assertNotFailed}. */
  assertNotFailed(txHash: string): Promise<AnySubmissionRecord | undefined> {
    return assertNotFailed(this.#connection, txHash);
  }

  /**
   * Signs, unless a call with this idempotency key has.
   * @throws InvalidArgumentError if that is another call.
   */
  async #signOnce(sender: GaslessSender, call: GaslessCall, prepared: Promise<Prepared>): Promise<Signed> {
    const { idempotencyKey: key } = call;
    const sign = () => this.#sign(sender, call, prepared);
    if (key === undefined) return await sign();
    const signing = this.#signedByKey.get(key) ?? sign();
    this.#signedByKey.set(key, signing);
    signing.catch(() => this.#signedByKey.delete(key));
    const signed = await signing;
    if (signed.paid === undefined || isSamePayment(signed.paid, paidBy(sender, call))) return signed;
    const other = `another call, ${this.#hashOf(signed.bytes)}`;
    throw new InvalidArgumentError(`the idempotencyKey ${key} belongs to ${other}; nothing was sent`);
  }

  /**
   * Finds the payment that was made under the name of a call.
   * @throws the refusal if that is another call, or SubmissionFailedError if it failed, or with the code `TIMEOUT`.
   */
  async #earlier(
    sender: GaslessSender,
    call: GaslessCall,
    refusal: RequestRefusedError,
  ): Promise<SentTransaction> {
    const { txHash } = detailsOf(refusal, "IDEMPOTENCY_KEY_REUSED") ?? {};
    if (txHash === undefined) throw refusal;
    const paid = await this.receiptOf(txHash, () => sender.transactionOf(txHash), this.#timeoutMs);
    if (!isSamePayment(paid, paidBy(sender, call))) throw refusal;
    return { id: txHash, txHash };
  }

  #reserve(sender: GaslessSender, { nonce }: GaslessCall, prepared: Promise<Prepared>) {
    return this.#sequences.of(sender.address).reserve(() => sender.transactionCount(), prepared, nonce);
  }

  async #sign(sender: GaslessSender, call: GaslessCall, prepared: Promise<Prepared>): Promise<Signed> {
    const reservation = await this.#reserve(sender, call, prepared);
    const { idempotencyKey, ...rest } = call;
    try {
      const bytes = await sender.sign({ ...rest, ...(await prepared), nonce: reservation.nonce });
      return { bytes, reservation, idempotencyKey, paid: paidBy(sender, call) };
    } catch (error) {
      reservation.release();
      throw error;
    }
  }

  async #submit(signed: Signed, endsAt: number): Promise<SentTransaction> {
    const { bytes, reservation, idempotencyKey } = signed;
    const isInDoubt = this.#inDoubt.has(bytes);
    const options = { signed: bytes, idempotencyKey, isInDoubt, endsAt, retry: this.#retry };
    let isOpen = false;
    try {
      const { id, txHash } = await submitUntilKnown(this.#connection, options);
      reservation?.markUsed();
      return { id, txHash, signed: bytes };
    } catch (error) {
      isOpen = error instanceof WaiverClientError && error.inDoubt.length > 0;
      if (isOpen)
        Object.assign(error as object, {
          inDoubt: [{ index: 0, signed: bytes, txHash: this.#hashOf(bytes) }],
        });
      const reason = error instanceof SubmissionFailedError ? error.reason : undefined;
      if (reservation) settleNonce(reservation, reason, isOpen);
      throw error;
    } finally {
      if (isOpen) this.#inDoubt.set(bytes, signed);
      else {
        this.#inDoubt.delete(bytes);
        if (idempotencyKey !== undefined) this.#signedByKey.delete(idempotencyKey);
      }
    }
  }
}

interface Prepared {
  readonly chainId: number;
  readonly gas: bigint;
}

/** Signed bytes, and what they were signed for. Those of a caller's own have no more than the bytes. */
interface Signed {
  /** 0x hex. */
  readonly bytes: string;
  readonly reservation?: NonceReservation;
  readonly idempotencyKey?: string | undefined;
  readonly paid?: PaidCall;
}

function paidBy({ address: from }: GaslessSender, { to, data, value }: GaslessCall): PaidCall {
  return { from, to, data, value };
}

function prepare(sender: GaslessSender, call: GaslessCall): Promise<Prepared> {
  const gas = call.gas ?? explainEstimate(sender.estimateGas(call)).then(withMargin);
  const prepared = Promise.all([sender.chainId(), gas]).then(([chainId, gas]) => {
    if (call.chainId === undefined || call.chainId === chainId) return { chainId, gas };
    throw new InvalidArgumentError(
      `the call is for chain ${call.chainId}, and the sender is on chain ${chainId}`,
    );
  });
  // It is awaited when the nonce's turn comes. Until then a failure must not count as unhandled.
  prepared.catch(() => undefined);
  return prepared;
}

/** The failures after which the call may succeed with another nonce. */
const NONCE_MISMATCHES: ReadonlySet<unknown> = new Set(["NONCE_GAP", "NONCE_CONFLICT", "NONCE_TOO_LOW"]);

/**
 * Tells whether a transaction has been given up for its nonce alone. Where no request with its bytes is without an answer, one
 * signed in its place cannot run in addition to it.
 */
export function isNonceMismatch(reason: unknown): boolean {
  return NONCE_MISMATCHES.has(reason);
}

/** The reasons of a failure after which the nonce is used, by this or by another transaction. */
const NONCE_USED: ReadonlySet<unknown> = new Set(["REVERTED", "NONCE_TOO_LOW", "NONCE_CONFLICT"]);

/** Frees a nonce, or marks it as used, by the reason for which its transaction has ended. */
export function settleNonce(reservation: NonceReservation, reason: unknown, isInDoubt: boolean): void {
  if (isInDoubt || NONCE_USED.has(reason)) reservation.markUsed();
  else if (reason === "NONCE_GAP") reservation.forgetUsed();
  else reservation.release();
}
