import { TEST_TOKEN } from "@gas-waiver/devnet";
import {
  bytesToHex,
  crypto,
  type Hex,
  hashTransaction,
  privateKeyToAddress,
  signTransaction,
} from "@gas-waiver/protocol";
import { type Answers, type Named, send, type Told, type Tx } from "./client.js";
import type { Random } from "./random.js";
import type { World } from "./world.js";

/** A nonce of a sender, and what was signed for it: more than one if transactions conflict or are replaced. */
interface Slot {
  readonly user: User;
  readonly nonce: number;
  readonly candidates: Tx[];
  /** Its client is content with a broadcast and never asks again. */
  readonly trusting: boolean;
}

interface User {
  readonly key: Uint8Array;
  readonly address: Hex;
}

/** Everything that clients ever signed and were told. */
export interface Book {
  readonly txs: Map<Hex, Tx>;
  /** The requests that were sent several times under a name. */
  readonly named: Named[];
  readonly answers: Answers;
  /** The submissions whose records were looked up. */
  readonly asked: string[];
}

export interface Load {
  readonly transactions: number;
  /** Resolves when every client that stays knows the end of what it sent; with those that do not when `ending` comes first. */
  finish(ending: AbortSignal): Promise<Tx[]>;
}

const USERS = 24;
const SPREAD_MS = 2_500;
const PAGE = 40;

/** Starts a wave of requests, all of one round: they go out over a few seconds, each to some replica. */
export async function startLoad(world: World, random: Random, seed: number, book: Book): Promise<Load> {
  const users = random.shuffled(usersOf(seed)).slice(0, random.between(6, 14));
  const next = await world.chain.nonces(users.map(({ address }) => address));
  const slots: Slot[] = [];
  const requests: Promise<void>[] = [];
  const sign = (user: User, nonce: number) => {
    const tx = signOne(user, nonce, random);
    book.txs.set(tx.hash, tx);
    return tx;
  };
  const later = (txs: readonly Tx[], leave = false) => {
    const inRandomOrder = random.chance(0.5) ? random.shuffled(txs) : txs;
    const named = random.chance(0.3) ? nameOf(inRandomOrder) : undefined;
    const times = named ? random.between(2, 4) : 1;
    for (let i = 0; i < times; i++) {
      const afterMs = random.between(0, SPREAD_MS);
      const wait = random.chance(0.4) ? "included" : "broadcast";
      const leaveAfterMs = leave ? { leaveAfterMs: random.between(1, 60) } : {};
      const how = { wait, answers: book.answers, ...leaveAfterMs, ...(named && { named }) } as const;
      requests.push(rest(afterMs).then(() => send(world, random, inRandomOrder, how)));
    }
  };
  const nameOf = (txs: readonly Tx[]): Named => {
    const named = { name: `request-${book.named.length}`, key: random.pick(world.apiKeys), txs, lines: [] };
    book.named.push(named);
    return named;
  };
  const namedBefore = book.named.length;
  const pages: Tx[][] = [[], [], []];
  users.forEach((user, i) => {
    const first = next[i] ?? 0;
    const trusting = random.chance(0.3);
    const own = Array.from({ length: random.between(1, 8) }, (_, n) => {
      const slot: Slot = { user, nonce: first + n, candidates: [sign(user, first + n)], trusting };
      return slot;
    });
    const txs = own.flatMap(({ candidates }) => candidates);
    const habit = random.next();
    if (habit < 0.1) {
      // Goes away in the middle and never comes back: what was accepted is carried all the same.
      later(txs, true);
      return;
    }
    slots.push(...own);
    if (habit < 0.55) random.pick(pages).push(...txs);
    else if (habit < 0.8) for (const tx of txs) later([tx]);
    else later(txs);
    if (random.chance(0.2)) later(txs);
    if (random.chance(0.2)) {
      const contested = random.pick(own);
      const rival = sign(user, contested.nonce);
      contested.candidates.push(rival);
      later([rival]);
    }
  });
  for (const page of pages) if (page.length > 0) later(page);
  const transactions = slots.length;
  return {
    transactions,
    async finish(ending) {
      await Promise.all(requests);
      // Everything works again: what was told under a name is told once more.
      const again = { wait: "included", answers: book.answers } as const;
      const ofRound = book.named.slice(namedBefore);
      await Promise.all(ofRound.map((named) => send(world, random, named.txs, { ...again, named })));
      let left = slots.filter((slot) => !isSettled(slot));
      while (left.length > 0 && !ending.aborted) {
        const txs = left.map((slot) => chooseAgain(slot, random, sign));
        const batches = Array.from({ length: Math.ceil(txs.length / PAGE) }, (_, i) =>
          txs.slice(i * PAGE, (i + 1) * PAGE),
        );
        await Promise.all(
          batches.map((batch) => send(world, random, batch, { wait: "included", answers: book.answers })),
        );
        left = left.filter((slot) => !isSettled(slot));
        if (left.length > 0) await rest(random.between(100, 400));
      }
      return left.flatMap(({ candidates }) => candidates);
    },
  };
}

/** The bytes that an impatient client sends next: the same again, or others where the first were refused for good. */
function chooseAgain(slot: Slot, random: Random, sign: (user: User, nonce: number) => Tx): Tx {
  const { candidates } = slot;
  const refused = candidates.every((tx) => tx.told.some(({ line }) => isFinalFailure(line)));
  if (refused && candidates.length < 6 && random.chance(0.4)) candidates.push(sign(slot.user, slot.nonce));
  const latest = candidates.at(-1);
  return random.chance(0.7) && latest ? latest : random.pick(candidates);
}

function isSettled({ candidates, trusting }: Slot): boolean {
  return candidates.some(({ told }) => told.some((one) => isSettling(one, trusting)));
}

function isSettling({ line, wait }: Told, trusting: boolean): boolean {
  if (line.success) return wait === "included" || trusting;
  return line.error.reason === "REVERTED";
}

/** The submission has ended; not its transaction was refused before it became one, and not the waiting. */
export function isFinalFailure(line: Told["line"]): boolean {
  if (line.success) return false;
  const { code, reason } = line.error;
  return code !== "TIMEOUT" && reason !== "NONCE_CONFLICT" && reason !== "REVERTED";
}

function usersOf(seed: number): User[] {
  return Array.from({ length: USERS }, (_, i) => {
    const key = crypto.keccak256(new TextEncoder().encode(`user ${seed} ${i}`));
    return { key, address: bytesToHex(privateKeyToAddress(key)) };
  });
}

let distinct = 0n;

/** A transfer of no tokens; now and then of one that the user does not have, which reverts. */
function signOne(user: User, nonce: number, random: Random): Tx {
  const data = new Uint8Array(68);
  data.set([0xa9, 0x05, 0x9c, 0xbb]);
  // Another recipient each time, so that no two transactions are the same.
  new DataView(data.buffer).setBigUint64(28, 0xffff_0000_0000_0000n + distinct++);
  data[67] = random.chance(0.08) ? 1 : 0;
  const signed = signTransaction(
    {
      type: "legacy",
      chainId: 2201n,
      nonce: BigInt(nonce),
      gasPrice: 0n,
      gasLimit: 100_000n,
      to: TEST_TOKEN,
      value: 0n,
      data,
    },
    user.key,
  );
  const hash = bytesToHex(hashTransaction(signed));
  return { raw: bytesToHex(signed.raw), hash, sender: user.address, nonce, sentAt: [], told: [] };
}

function rest(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
