import { setTimeout as sleep } from "node:timers/promises";
import { TEST_TOKEN } from "@gas-waiver/devnet";
import {
  bytesToHex,
  crypto,
  type Hex,
  hashTransaction,
  privateKeyToAddress,
  signTransaction,
} from "@gas-waiver/protocol";
import type { SeededRandom } from "../support/seededRandom.js";
import { type Answers, type KeyedRequest, type ReceivedLine, send, type Tx } from "./client.js";
import type { Environment } from "./environment.js";

/** A nonce of a sender, with its signed transactions: more than one if they conflict, or after a final failure. */
interface Slot {
  readonly user: User;
  readonly nonce: number;
  readonly candidates: Tx[];
  /** True if the client stops at a broadcast line; otherwise it repeats the request until the inclusion. */
  readonly trusting: boolean;
}

/** The key and the address of a client. */
export interface User {
  readonly key: Uint8Array;
  readonly address: Hex;
}

/** All transactions that clients have signed, with the lines that they have received. */
export interface ClientLedger {
  readonly txs: Map<Hex, Tx>;
  /** The requests that were sent several times with one Idempotency-Key. */
  readonly keyedRequests: KeyedRequest[];
  readonly answers: Answers;
  /** Ids of the submissions whose records were compared. */
  readonly checkedRecords: string[];
}

export interface Load {
  readonly transactions: number;
  /**
   * Resolves when every waiting client has a final line; if `ending` is aborted first, with the open transactions.
   * @param isHopeless tells the transactions for which no client waits any more, because they can never run.
   */
  finish(ending: AbortSignal, isHopeless?: (tx: Tx) => boolean): Promise<Tx[]>;
}

const USERS = 24;
const SPREAD_MS = 2_500;
const BATCH_SIZE = 40;

/** The requests of one round. */
interface Wave {
  readonly environment: Environment;
  readonly random: SeededRandom;
  readonly ledger: ClientLedger;
  readonly requests: Promise<void>[];
  /** The nonces whose clients wait for a final line. */
  readonly slots: Slot[];
}

/** Starts the requests of one round. They go to random replicas over a few seconds. */
export async function startLoad(
  environment: Environment,
  random: SeededRandom,
  seed: number,
  ledger: ClientLedger,
): Promise<Load> {
  const users = random.shuffled(usersOf(seed)).slice(0, random.between(6, 14));
  const nextNonces = await environment.chain.nonces(users.map(({ address }) => address));
  const wave: Wave = { environment, random, ledger, requests: [], slots: [] };
  const earlierCount = ledger.keyedRequests.length;
  const sharedBatches: Tx[][] = [[], [], []];
  for (const [i, user] of users.entries()) startUser(wave, user, nextNonces[i] ?? 0, sharedBatches);
  for (const batch of sharedBatches) if (batch.length > 0) schedule(wave, batch);
  return {
    transactions: wave.slots.length,
    finish: (ending, isHopeless = () => false) =>
      finishLoad(wave, ledger.keyedRequests.slice(earlierCount), ending, isHopeless),
  };
}

/**
 * Signs some transactions of a user and schedules their requests. Some go into the `sharedBatches`, each of which has
 * transactions of several users.
 */
function startUser(wave: Wave, user: User, first: number, sharedBatches: readonly Tx[][]): void {
  const { random } = wave;
  const trusting = random.chance(0.3);
  const slots = Array.from({ length: random.between(1, 8) }, (_, n) => {
    const slot: Slot = { user, nonce: first + n, candidates: [sign(wave, user, first + n)], trusting };
    return slot;
  });
  const txs = slots.flatMap(({ candidates }) => candidates);
  const habit = random.next();
  if (habit < 0.1) {
    // This client disconnects in the middle. Only a request with an Idempotency-Key is repeated at the end of the round. The
    // service must still carry what it has accepted.
    schedule(wave, txs, true);
    return;
  }
  wave.slots.push(...slots);
  if (habit < 0.55) random.pick(sharedBatches).push(...txs);
  else if (habit < 0.8) for (const tx of txs) schedule(wave, [tx]);
  else schedule(wave, txs);
  if (random.chance(0.2)) schedule(wave, txs);
  if (random.chance(0.2)) {
    const contested = random.pick(slots);
    const rival = sign(wave, user, contested.nonce);
    contested.candidates.push(rival);
    schedule(wave, [rival]);
  }
}

function sign({ random, ledger }: Wave, user: User, nonce: number): Tx {
  const tx = signOne(user, nonce, random);
  ledger.txs.set(tx.hash, tx);
  return tx;
}

/** Schedules a request with these transactions, or several with one Idempotency-Key. */
function schedule(
  { environment, random, ledger, requests }: Wave,
  txs: readonly Tx[],
  leavesEarly = false,
): void {
  const inRandomOrder = random.chance(0.5) ? random.shuffled(txs) : txs;
  const keyed = random.chance(0.3) ? keyedRequest(environment, random, ledger, inRandomOrder) : undefined;
  const times = keyed ? random.between(2, 4) : 1;
  for (let i = 0; i < times; i++) {
    const afterMs = random.between(0, SPREAD_MS);
    const wait = random.chance(0.4) ? "included" : "broadcast";
    const leaveAfterMs = leavesEarly ? { leaveAfterMs: random.between(1, 60) } : {};
    const options = { wait, answers: ledger.answers, ...leaveAfterMs, ...(keyed && { keyed }) } as const;
    requests.push(sleep(afterMs).then(() => send(environment, random, inRandomOrder, options)));
  }
}

function keyedRequest(
  environment: Environment,
  random: SeededRandom,
  { keyedRequests }: ClientLedger,
  txs: readonly Tx[],
): KeyedRequest {
  const keyed = {
    name: `request-${keyedRequests.length}`,
    key: random.pick(environment.apiKeys),
    txs,
    lines: [],
  };
  keyedRequests.push(keyed);
  return keyed;
}

/** Repeats the requests until every waiting client has a final line. Call it when all faults are undone. */
async function finishLoad(
  wave: Wave,
  keyedRequests: readonly KeyedRequest[],
  ending: AbortSignal,
  isHopeless: (tx: Tx) => boolean,
): Promise<Tx[]> {
  const { environment, random, ledger, requests, slots } = wave;
  await Promise.all(requests);
  const options = { wait: "included", answers: ledger.answers } as const;
  await Promise.all(
    keyedRequests.map((keyed) => send(environment, random, keyed.txs, { ...options, keyed })),
  );
  const isOver = (slot: Slot) => isSettled(slot) || slot.candidates.some(isHopeless);
  let unsettled = slots.filter((slot) => !isOver(slot));
  while (unsettled.length > 0 && !ending.aborted) {
    const txs = unsettled.map((slot) => chooseNext(wave, slot));
    const batches = Array.from({ length: Math.ceil(txs.length / BATCH_SIZE) }, (_, i) =>
      txs.slice(i * BATCH_SIZE, (i + 1) * BATCH_SIZE),
    );
    await Promise.all(batches.map((batch) => send(environment, random, batch, options)));
    unsettled = unsettled.filter((slot) => !isOver(slot));
    if (unsettled.length > 0) await sleep(random.between(100, 400));
  }
  return unsettled.flatMap(({ candidates }) => candidates);
}

/** The client's next transaction for a nonce: the same again, or a new one if all have failed for good. */
function chooseNext(wave: Wave, { user, nonce, candidates }: Slot): Tx {
  const { random } = wave;
  const refused = candidates.every((tx) => tx.received.some(({ line }) => isFinalFailure(line)));
  if (refused && candidates.length < 6 && random.chance(0.4)) candidates.push(sign(wave, user, nonce));
  const latest = candidates.at(-1);
  return random.chance(0.7) && latest ? latest : random.pick(candidates);
}

function isSettled({ candidates, trusting }: Slot): boolean {
  return candidates.some(({ received }) => received.some((one) => isSettling(one, trusting)));
}

function isSettling({ line, wait }: ReceivedLine, trusting: boolean): boolean {
  if (line.success) return wait === "included" || trusting;
  return line.error.reason === "REVERTED";
}

/** True if the submission has failed for good. A TIMEOUT, and a refusal before acceptance, tell nothing about the nonce. */
export function isFinalFailure(line: ReceivedLine["line"]): boolean {
  if (line.success) return false;
  const { code, reason } = line.error;
  return code !== "TIMEOUT" && reason !== "NONCE_CONFLICT" && reason !== "REVERTED";
}

export function usersOf(seed: number, count = USERS): User[] {
  return Array.from({ length: count }, (_, i) => {
    const key = crypto.keccak256(new TextEncoder().encode(`user ${seed} ${i}`));
    return { key, address: bytesToHex(privateKeyToAddress(key)) };
  });
}

let signedCount = 0n;

const SELECTORS = { transfer: [0xa9, 0x05, 0x9c, 0xbb], approve: [0x09, 0x5e, 0xa7, 0xb3] } as const;
/** The share of approvals among the transactions; the others are transfers. */
const APPROVALS = 0.15;
/** The share of transactions with bytes after their arguments, so that batches differ in size. */
const LONG = 0.06;
const MAX_MORE_BYTES = 40_000;

/** Signs a transfer of 0 tokens, or an approval. Sometimes it is a transfer of a token that the user lacks, which reverts. */
export function signOne(user: User, nonce: number, random: SeededRandom): Tx {
  const more = random.chance(LONG) ? random.between(1_000, MAX_MORE_BYTES) : 0;
  const data = new Uint8Array(68 + more);
  data.set(random.chance(APPROVALS) ? SELECTORS.approve : SELECTORS.transfer);
  // A new recipient makes each transaction different.
  new DataView(data.buffer).setBigUint64(28, 0xffff_0000_0000_0000n + signedCount++);
  data[67] = random.chance(0.08) ? 1 : 0;
  const signed = signTransaction(
    {
      ...{ type: "legacy", chainId: 2201n, nonce: BigInt(nonce), gasPrice: 0n },
      gasLimit: 100_000n + 10n * BigInt(more),
      ...{ to: TEST_TOKEN, value: 0n, data },
    },
    user.key,
  );
  const hash = bytesToHex(hashTransaction(signed));
  return { raw: bytesToHex(signed.raw), hash, sender: user.address, nonce, sentAt: [], received: [] };
}
