import {
  type AllowedTargetJson,
  assertInnerTx,
  assertInnerTxFields,
  bytesEqual,
  bytesToHex,
  compilePolicy,
  DEFAULT_MAX_DATA_LENGTH,
  DEFAULT_MAX_GAS_LIMIT,
  encodeTransaction,
  type Hex,
  hashTransaction,
  hexToBytes,
  type InnerEncoding,
  type InnerTx,
  type InnerTxRules,
  ProtocolError,
  parseAllowedTargets,
  parseInnerTx,
  recoverSender,
  type Signature,
  signingHash,
  type UnsignedTransaction,
  type WaiverAccount,
} from "@gas-waiver/protocol";
import type { Journal } from "../bulk/journal.js";
import { InvalidArgumentError } from "../errors.js";
import { isNonceMismatch, settleNonce } from "../gasless/gasless.js";
import { isSamePayment } from "../gasless/gaslessCall.js";
import { type NonceReservation, NonceSequences } from "../gasless/nonceSequence.js";
import { accountOf, type KeyHolder } from "./accounts.js";
import { Entry, type Failure } from "./entry.js";
import { Lane } from "./lane.js";
import { Nodes } from "./nodes.js";
import { MAX_IN_FLIGHT } from "./placement.js";
import { type RelayErrorCode, WaiverRelayError } from "./relayError.js";
import { openJournal } from "./relayJournal.js";

/** The waiver of a relay, its nodes and its rules. */
export interface WaiverRelayOptions {
  /** The JSON-RPC addresses of the chain's nodes. A later one is asked where those before it fail. */
  readonly rpcUrls: readonly (string | URL)[];
  readonly chainId: number;
  /** The registered waiver that signs the wrappers. Nothing else may send with its key. */
  readonly waiver: KeyHolder;
  /** Keeps what was signed over a crash, for one relay at a time. Without one, a crash forgets what is in flight. */
  readonly journal?: Journal | undefined;
  /** The calls that may be sent; all by default. Validators check the waiver's own targets. */
  readonly allowedTargets?: readonly AllowedTargetJson[] | undefined;
  /** The highest gas limit of a transaction, in gas; 10,000,000 by default. */
  readonly maxGasLimit?: bigint | undefined;
  /** The most bytes of calldata; by default what nodes take in one transaction with its wrapper: 130,786. */
  readonly maxDataLength?: number | undefined;
  /** The stage at which a call returns: a node has the wrapper, the default, or a final block has the transaction. */
  readonly wait?: "broadcast" | "included" | undefined;
  /** The time after which a call whose outcome is not known throws, in ms; 60,000 by default. */
  readonly timeoutMs?: number | undefined;
  /** The blocks on top of a final one; 0 by default, for chains whose blocks are final at once. */
  readonly reorgDepth?: number | undefined;
  /** The most calls in one request to a node; 100 by default. */
  readonly maxBatchSize?: number | undefined;
  /** The gas for verification on top of a wrapper, in gas; 50,000 by default. */
  readonly verificationGas?: bigint | undefined;
  /** The form of a typed transaction in its wrapper; `envelope` by default. */
  readonly innerEncoding?: InnerEncoding | undefined;
  /** The `fetch` to use; the platform's own by default. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** A call that a relay signs and sends. */
export interface RelayCall {
  /** 0x hex of 20 bytes. */
  readonly to: Hex;
  /** 0x hex; empty by default. */
  readonly data?: Hex | undefined;
  /** The value in wei; 0 by default. */
  readonly value?: bigint | undefined;
  /** The gas limit, in gas; 150,000 by default. A generous one costs nothing. */
  readonly gas?: bigint | undefined;
  /** The user's nonce; the next one by default. */
  readonly nonce?: number | undefined;
  /**
   * The payment's name. The journal keeps it, and one that is there is not signed a second time: the same call of the same user
   * goes on with that payment, and another one fails (`IDEMPOTENCY_KEY_REUSED`).
   */
  readonly idempotencyKey?: string | undefined;
}

/** The outcome of one transaction of a batch. */
export type RelayedResult =
  | { readonly index: number; readonly success: true; readonly txHash: Hex }
  | {
      readonly index: number;
      readonly success: false;
      /** The hash, where the transaction is signed. */
      readonly txHash?: Hex | undefined;
      readonly error: {
        readonly code: RelayErrorCode;
        /** The stable name of the rule that failed. */
        readonly reason: string;
        readonly message: string;
      };
    };

const DEFAULT_GAS = 150_000n;
const DEFAULT_TIMEOUT_MS = 60_000;
const REQUEST_TIMEOUT_MS = 10_000;

/**
 * Opens a relay: users' transactions are checked, wrapped, and sent with the waiver's key until their outcome is known. What the
 * journal has from before goes on at once.
 * @throws InvalidArgumentError for options that cannot be used, JournalError, or the error of nodes that do not
 * answer within `timeoutMs`.
 * @example
 * ```ts
 * import { fileJournal } from "@gas-waiver/client/node";
 * import { openWaiverRelay } from "@gas-waiver/client/self-hosted";
 *
 * const relay = await openWaiverRelay({
 *   rpcUrls: ["http://127.0.0.1:8545"],
 *   chainId: 2201,
 *   waiver: { privateKey },
 *   journal: fileJournal("relay.journal"),
 * });
 * const { txHash } = await relay.relay(signedTransaction);
 * await relay.close();
 * ```
 */
export async function openWaiverRelay(options: WaiverRelayOptions): Promise<WaiverRelay> {
  const { rpcUrls, chainId, maxBatchSize = 100, fetch, journal } = options;
  if (rpcUrls.length === 0) throw new InvalidArgumentError("rpcUrls is empty: a relay needs a node");
  const waiver = accountOf(options.waiver);
  const nodes = new Nodes(rpcUrls, { fetch, maxBatchSize, requestTimeoutMs: REQUEST_TIMEOUT_MS });
  const endsAt = performance.now() + (options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
  const [told] = await nodes.read((ask) => ask([{ method: "eth_chainId", params: [] }]), endsAt);
  if (Number(told) !== chainId)
    throw new InvalidArgumentError(`the relay is for chain ${chainId}, and the node is of chain ${told}`);
  const entries = await openJournal(journal, { chainId, waiver: bytesToHex(waiver.address) });
  return new WaiverRelay(options, { waiver, nodes, entries: [...entries.values()] });
}

interface RelayParts {
  readonly waiver: WaiverAccount;
  readonly nodes: Nodes;
  /** The entries of the journal. */
  readonly entries: readonly Entry[];
}

/** Wraps and sends with one waiver. Made by {@link openWaiverRelay}. */
export class WaiverRelay {
  readonly #options: WaiverRelayOptions;
  readonly #rules: InnerTxRules;
  readonly #nodes: Nodes;
  readonly #lane: Lane;
  readonly #sequences = new NonceSequences();
  readonly #reservations = new Map<Entry, NonceReservation>();
  /** The payments with a name, by that. */
  readonly #byKey = new Map<string, Promise<Entry>>();

  /** @internal */
  constructor(options: WaiverRelayOptions, { waiver, nodes, entries }: RelayParts) {
    const { chainId, maxGasLimit, maxDataLength, allowedTargets, journal, reorgDepth = 0 } = options;
    const { verificationGas, innerEncoding } = options;
    this.#options = options;
    this.#rules = {
      chainId: BigInt(chainId),
      maxGasLimit: maxGasLimit ?? DEFAULT_MAX_GAS_LIMIT,
      maxDataLength: maxDataLength ?? DEFAULT_MAX_DATA_LENGTH,
      policy: compilePolicy(parseAllowedTargets(allowedTargets ?? [{ address: "*" }])),
      policyName: "the relay's allowedTargets",
    };
    this.#nodes = nodes;
    const gas = verificationGas === undefined ? {} : { verificationGas };
    const wrapping = { ...gas, ...(innerEncoding && { innerEncoding }) };
    this.#lane = new Lane({ nodes, waiver, wrapping, journal, reorgDepth });
    for (const entry of entries) {
      if (entry.key !== undefined) this.#byKey.set(entry.key, Promise.resolve(entry));
      if (entry.ending === undefined) this.#add(entry);
    }
  }

  /**
   * Signs a call as a user, with the user's next nonce, and relays it.
   * @param user an account of viem, or another holder of a key.
   * @returns the hash of the user's transaction, when a node has it, or a block with `wait: "included"`.
   * @throws WaiverRelayError; with the code `TIMEOUT` the transaction may still run.
   * @example
   * ```ts
   * const { txHash } = await relay.send({ privateKey }, { to: tokenAddress, data: calldata });
   * ```
   */
  async send(user: KeyHolder, call: RelayCall): Promise<{ readonly txHash: Hex }> {
    const account = accountOf(user);
    return await this.#send(account, call, this.#counting(account));
  }

  /**
   * Signs calls of one user with consecutive nonces, in their order, and relays them. No more are signed ahead than can be in
   * flight: some thousand signatures take seconds, in which nothing else runs.
   * @returns one result for each call, in their order.
   * @example
   * ```ts
   * const calls = [{ to: tokenAddress, data: calldata, idempotencyKey: "invoice-17" }];
   * for (const result of await relay.sendBatch({ privateKey }, calls)) console.log(result.success);
   * ```
   */
  async sendBatch(user: KeyHolder, calls: readonly RelayCall[]): Promise<RelayedResult[]> {
    const account = accountOf(user);
    const count = this.#counting(account);
    const endsAt = this.#endsAt();
    const sent: Promise<{ readonly txHash: Hex }>[] = [];
    let started = Promise.resolve();
    for (const [i, call] of calls.entries()) {
      const before = sent[i - MAX_IN_FLIGHT]?.catch(() => undefined);
      started = Promise.all([started, before]).then(() => undefined);
      sent.push(started.then(() => this.#send(account, call, count, endsAt)));
    }
    return await resultsOf(sent);
  }

  /**
   * Relays a transaction that the user has signed. The same bytes again are the same transaction.
   * @param signed 0x hex.
   * @returns the hash of the user's transaction, when a node has it, or a block with `wait: "included"`.
   * @throws WaiverRelayError; with the code `TIMEOUT` the transaction may still run.
   * @example
   * ```ts
   * const { txHash } = await relay.relay(signedTransaction);
   * ```
   */
  async relay(signed: string): Promise<{ readonly txHash: Hex }> {
    const endsAt = this.#endsAt();
    const valid = this.#checked(() => assertInnerTx(parseInnerTx(signed), this.#rules));
    return await this.#carry(this.#add(new Entry(valid)), endsAt);
  }

  /**
   * Relays transactions that users have signed.
   * @returns one result for each transaction, in their order.
   * @example
   * ```ts
   * const results = await relay.relayBatch([signedTransaction]);
   * ```
   */
  async relayBatch(signed: readonly string[]): Promise<RelayedResult[]> {
    return await resultsOf(signed.map((one) => this.relay(one)));
  }

  /** Stops. Transactions that a node has may still run; a relay with the same journal goes on with the others. */
  async close(): Promise<void> {
    await this.#lane.close(new InvalidArgumentError("the relay is closed"));
  }

  async #send(user: WaiverAccount, call: RelayCall, count: Count, endsAt = this.#endsAt()) {
    const { idempotencyKey: key, nonce } = call;
    for (let counting = count; ; counting = this.#counting(user)) {
      const signing = this.#signOnce(user, call, counting);
      const entry = await signing;
      assertSamePayment(entry, user, call);
      try {
        return await this.#carry(entry, endsAt);
      } catch (error) {
        // Nothing of it can run any more, so the payment's name is free again.
        const isOver = error instanceof WaiverRelayError && error.inDoubt.length === 0;
        if (key !== undefined && isOver && error.reason !== "REVERTED" && this.#byKey.get(key) === signing)
          this.#byKey.delete(key);
        const isRepeatable = nonce === undefined && isOver && isNonceMismatch(error.reason);
        if (!isRepeatable || performance.now() >= endsAt) throw error;
      }
    }
  }

  /** Signs, unless a payment of this name is there. */
  #signOnce(user: WaiverAccount, call: RelayCall, count: Count): Promise<Entry> {
    const { idempotencyKey: key } = call;
    const known = key === undefined ? undefined : this.#byKey.get(key);
    if (known) return known;
    const signing = this.#sign(user, call, count);
    if (key !== undefined) {
      this.#byKey.set(key, signing);
      signing.catch(() => this.#byKey.delete(key));
    }
    return signing;
  }

  /** Signs with the lowest free nonce. A call that the rules refuse takes none from the calls behind it. */
  async #sign(user: WaiverAccount, call: RelayCall, count: Count): Promise<Entry> {
    const unsigned = this.#unsigned(call);
    this.#checked(() => assertInnerTxFields(withSignature(unsigned, UNSIGNED), this.#rules));
    const sequence = this.#sequences.of(bytesToHex(user.address));
    const reservation = await sequence.reserve(count, Promise.resolve(), call.nonce);
    try {
      const numbered = { ...unsigned, nonce: BigInt(reservation.nonce) };
      const tx = withSignature(numbered, await user.sign(signingHash(numbered)));
      const sender = this.#checked(() => recoverSender(tx));
      if (!bytesEqual(sender, user.address)) throw new WaiverRelayError(ofAnotherKey(sender));
      return this.#add(
        new Entry({ tx, hash: hashTransaction(tx), sender }, call.idempotencyKey),
        reservation,
      );
    } catch (error) {
      reservation.release();
      throw error;
    }
  }

  #unsigned({ to, data = "0x", value = 0n, gas = DEFAULT_GAS }: RelayCall): Unsigned {
    const { chainId } = this.#rules;
    const call = { to: bytesOf("to", to, 20), data: bytesOf("data", data), value };
    return { ...{ type: "legacy", chainId, nonce: 0n, gasPrice: 0n, gasLimit: gas }, ...call };
  }

  /** @throws WaiverRelayError for a transaction that the rules refuse. */
  #checked<T>(check: () => T): T {
    try {
      return check();
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      throw new WaiverRelayError(error);
    }
  }

  #add(entry: Entry, reserved?: NonceReservation): Entry {
    const added = this.#lane.add(entry);
    if (added !== entry) return added;
    const reservation = reserved ?? this.#sequences.of(entry.sender).reserveChosen(Number(entry.inner.nonce));
    this.#reservations.set(entry, reservation);
    void entry.ended.promise.then(() => {
      this.#reservations.delete(entry);
      const reason = entry.ending?.kind === "failed" ? entry.ending.failure.reason : "REVERTED";
      settleNonce(reservation, reason, entry.ending === undefined);
    });
    return entry;
  }

  async #carry(entry: Entry, endsAt: number): Promise<{ readonly txHash: Hex }> {
    await this.#lane.wait(entry, this.#options.wait === "included" ? "ended" : "taken", endsAt);
    return { txHash: entry.hash };
  }

  #endsAt(): number {
    return performance.now() + (this.#options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
  }

  /** Returns a function that reads the user's count, once for calls that come together. */
  #counting(user: WaiverAccount): Count {
    const call = { method: "eth_getTransactionCount", params: [bytesToHex(user.address), "pending"] };
    let count: Promise<number> | undefined;
    return () => {
      count ??= this.#nodes
        .read(async (ask) => Number((await ask([call]))[0]), this.#endsAt())
        .catch((cause: Error) => {
          const message = `the user's nonce could not be read: ${cause.message}`;
          throw new WaiverRelayError({ reason: "NOT_BROADCAST", message }, { cause });
        });
      return count;
    };
  }
}

/** @throws WaiverRelayError for a call that is not the one of its name. */
function assertSamePayment({ inner, sender: from, hash, key }: Entry, user: WaiverAccount, call: RelayCall) {
  const { to, data = "0x", value = 0n } = call;
  const paid = {
    from,
    to: inner.to ? bytesToHex(inner.to) : null,
    data: bytesToHex(inner.data),
    value: inner.value,
  };
  if (isSamePayment(paid, { from: bytesToHex(user.address), to, data, value })) return;
  const message = `the idempotencyKey ${key} belongs to another call, ${hash}; nothing was sent`;
  throw new WaiverRelayError({ reason: "IDEMPOTENCY_KEY_REUSED", message, values: { txHash: hash } });
}

/** Returns the error of a call that was not signed, for what its signer has thrown or its arguments lack. */
function unsigned(cause: unknown): WaiverRelayError {
  const reason = cause instanceof InvalidArgumentError ? "INVALID_HEX" : "NOT_BROADCAST";
  return new WaiverRelayError({ reason, message: cause instanceof Error ? cause.message : String(cause) });
}

/** Reads the user's count. */
type Count = () => Promise<number>;

type Unsigned = Extract<UnsignedTransaction, { readonly type: "legacy" }> & { readonly chainId: bigint };

/** A signature that counts for the length of a transaction alone. */
const UNSIGNED: Signature = { compact: new Uint8Array(64).fill(1), yParity: 0 };

function withSignature(unsigned: Unsigned, signature: Signature): InnerTx {
  return { ...unsigned, signature, raw: encodeTransaction(unsigned, signature) };
}

function ofAnotherKey(signer: Uint8Array): Failure {
  const message = `the signature is that of ${bytesToHex(signer)}, and not the user's`;
  return { reason: "INVALID_SIGNATURE", message };
}

/** @throws InvalidArgumentError for text that is no hex of this length. */
function bytesOf(name: string, hex: string, length?: number): Uint8Array {
  try {
    const bytes = hexToBytes(hex);
    if (length === undefined || bytes.length === length) return bytes;
  } catch {
    // Names of ENS come here too.
  }
  throw new InvalidArgumentError(`${name} is ${hex}, and no ${length === 20 ? "address" : "hex"}`);
}

/** Makes a result of each call, whatever its signer or the caller's arguments did: those beside it may have paid. */
async function resultsOf(carried: readonly Promise<{ readonly txHash: Hex }>[]): Promise<RelayedResult[]> {
  const outcomes = await Promise.allSettled(carried);
  return outcomes.map((outcome, index) => {
    if (outcome.status === "fulfilled") return { index, success: true, txHash: outcome.value.txHash };
    const { code, reason, message, txHash } =
      outcome.reason instanceof WaiverRelayError ? outcome.reason : unsigned(outcome.reason);
    return { index, success: false, txHash: txHash as Hex | undefined, error: { code, reason, message } };
  });
}
