import { bytesEqual, bytesToHex, type Hex } from "@gas-waiver/protocol";
import { type Authorization, authorityOf } from "./client/authorizations.js";
import type { BlockTransaction, BlockWithTransactions, NodeClient } from "./client/nodeClient.js";

/** The transaction that used an account's nonce, read from the block that holds it. */
export interface NonceUse {
  readonly nonce: bigint;
  readonly transaction: BlockTransaction;
  /**
   * The account sent the transaction, or signed an authorization (EIP-7702) in a transaction of any sender.
   */
  readonly by: "sender" | "authorization";
  readonly blockNumber: bigint;
  readonly blockHash: Uint8Array;
  /** All transactions of that block. */
  readonly blockTransactions: readonly BlockTransaction[];
}

/** A nonce of an account. */
export interface AccountNonce {
  /** 20 bytes. */
  readonly account: Uint8Array;
  readonly nonce: bigint;
}

/**
 * Finds the transaction that used a nonce (D28). The answer comes from the transaction list of a block that is final, never
 * from a nonce alone: nodes behind one address are not at one height, and receipts may come seconds after nonces.
 *
 * An EIP-7702 authorization uses a nonce of its signer too, but only if it had its turn: a block may list one that had no
 * effect. So it counts only in the block in which the account's nonce rose, by the states before and after it, and only
 * where that block has no transaction of the account with this nonce. A nonce that the code of a delegated account used
 * by creating a contract leaves nothing in a block's list, so it is never proven.
 */
export interface NonceProofs {
  /**
   * @returns the use, or undefined while no final block shows it: the nonce is free, its block is not final or not
   * known to this node, or the search goes on with the next call.
   */
  find(accountNonce: AccountNonce): Promise<NonceUse | undefined>;
  /**
   * Returns the lowest nonce of an account above all whose use was found in the last minute; 0 without one. A node that is
   * behind the one that showed the use may answer with a lower next nonce.
   */
  usedBelow(account: Uint8Array): bigint;
}

export interface NonceProofOptions {
  readonly chain: Pick<NodeClient, "blockNumber" | "blocks" | "noncesAt">;
  /** Blocks on top of one that make it final. */
  readonly reorgDepth: number;
  /** A monotonic clock in ms. */
  readonly now?: () => number;
}

/** A use is remembered for this long, in ms: longer than a node that is asked can be behind. */
const REMEMBER_MS = 60_000;
/** A search without account states goes back at most this many blocks from where it began. */
const MAX_SCANNED_BLOCKS = 10_000n;
/** Blocks that such a search reads in one call of {@link NonceProofs.find}. */
const SCANNED_BLOCKS = 100n;
/** Blocks in one request: their transactions come whole. */
const BLOCKS_PER_REQUEST = 10n;
/** The final blocks in which uses were found are remembered for this long, in ms: they often show the uses of other nonces too. */
const REMEMBER_BLOCKS_MS = 10_000;
const REMEMBERED_BLOCKS = 4;
/** The maximum number of searches whose progress is kept. The oldest is dropped and begins anew. */
const MAX_SCANS = 10_000;

export function createNonceProofs({
  chain,
  reorgDepth,
  now = () => performance.now(),
}: NonceProofOptions): NonceProofs {
  const scans = new Map<string, Scan>();
  const found = new Map<Hex, { readonly next: bigint; readonly until: number }>();
  let blocks: readonly RememberedBlock[] = [];
  const findInBlocks = (accountNonce: AccountNonce) => {
    blocks = blocks.filter(({ until }) => now() < until);
    return blocks
      .map(({ block, height }) => useIn(block, height, accountNonce))
      .find((use) => use !== undefined);
  };
  const rememberBlock = ({ blockHash, blockNumber, blockTransactions }: NonceUse) => {
    if (blocks.some(({ height }) => height === blockNumber)) return;
    const block = { hash: blockHash, transactions: blockTransactions };
    const remembered = { block, height: blockNumber, until: now() + REMEMBER_BLOCKS_MS };
    blocks = [...blocks.slice(1 - REMEMBERED_BLOCKS), remembered];
  };
  const findUse = async (accountNonce: AccountNonce) => {
    const inBlock = findInBlocks(accountNonce);
    if (inBlock) return inBlock;
    const final = (await chain.blockNumber()) - BigInt(reorgDepth);
    if (final < 0n) return undefined;
    const height = await bisect(chain, accountNonce, final);
    if (height === "unused") return undefined;
    if (height === "no state") return scan(chain, accountNonce, final, scans);
    // Besu has 0 as the nonce after a block whose state it has no more, so that the nonce seems to rise in a later block.
    return (await useAt(height, accountNonce, chain)) ?? (await scan(chain, accountNonce, final, scans));
  };
  const usedBelow = (account: Uint8Array) => {
    const { next, until } = found.get(bytesToHex(account)) ?? { next: 0n, until: 0 };
    return now() < until ? next : 0n;
  };
  return {
    usedBelow,
    async find(accountNonce) {
      const use = await findUse(accountNonce);
      if (use === undefined) return undefined;
      rememberBlock(use);
      const { account, nonce } = accountNonce;
      for (const [name, { until }] of found) if (now() >= until) found.delete(name);
      found.set(bytesToHex(account), {
        next: max(nonce + 1n, usedBelow(account)),
        until: now() + REMEMBER_MS,
      });
      return use;
    },
  };
}

/** A final block in which a use was found. */
interface RememberedBlock {
  readonly block: BlockWithTransactions;
  readonly height: bigint;
  readonly until: number;
}

/**
 * The block after which the account's nonce is first beyond the one asked for, by the states of blocks. Nodes keep those
 * of recent blocks; the block's own transactions are the proof, so a node that contradicts itself only costs a search.
 */
async function bisect(
  chain: NonceProofOptions["chain"],
  { account, nonce }: AccountNonce,
  final: bigint,
): Promise<bigint | "unused" | "no state"> {
  const [last] = await chain.noncesAt(account, [final]);
  if (last === undefined) return "no state";
  if (last <= nonce) return "unused";
  let used = final;
  // -1 stands for the moment before the genesis.
  let unused = final - 1n;
  for (let step = 1n; unused >= 0n; step *= 2n) {
    const [before] = await chain.noncesAt(account, [unused]);
    if (before === undefined) return "no state";
    if (before <= nonce) break;
    used = unused;
    unused = max(unused - step, -1n);
  }
  while (used - unused > 1n) {
    const middle = (used + unused) / 2n;
    const [between] = await chain.noncesAt(account, [middle]);
    if (between === undefined) return "no state";
    if (between > nonce) used = middle;
    else unused = middle;
  }
  return used;
}

/** The blocks that a search has read: all from `bottom` on below `top`. It began below `origin`. */
interface Scan {
  readonly origin: bigint;
  readonly top: bigint;
  readonly bottom: bigint;
}

/** Reads block after block, the new ones first and then from the newest down, some in each call. */
async function scan(
  chain: NonceProofOptions["chain"],
  accountNonce: AccountNonce,
  final: bigint,
  scans: Map<string, Scan>,
): Promise<NonceUse | undefined> {
  const name = `${bytesToHex(accountNonce.account)} ${accountNonce.nonce}`;
  let read: Scan = scans.get(name) ?? { origin: final + 1n, top: final + 1n, bottom: final + 1n };
  for (let left = SCANNED_BLOCKS; left > 0n; left -= BLOCKS_PER_REQUEST) {
    const isNew = read.top <= final;
    const end = isNew ? min(read.top + BLOCKS_PER_REQUEST, final + 1n) : read.bottom;
    const start = isNew ? read.top : max(end - BLOCKS_PER_REQUEST, read.origin - MAX_SCANNED_BLOCKS, 0n);
    if (start >= end) break;
    const uses = await usesIn(chain, accountNonce, range(start, end));
    if (uses.includes(undefined)) break;
    const found = uses.find((use) => use !== "not used here");
    if (found !== undefined) {
      scans.delete(name);
      return found;
    }
    read = isNew ? { ...read, top: end } : { ...read, bottom: start };
  }
  remember(scans, name, read);
  return undefined;
}

function remember(scans: Map<string, Scan>, name: string, read: Scan): void {
  scans.delete(name);
  scans.set(name, read);
  const [oldest] = scans.keys();
  if (scans.size > MAX_SCANS && oldest !== undefined) scans.delete(oldest);
}

/** Reads the use of the nonce from the block in which the account's nonce rose above it. */
async function useAt(
  height: bigint,
  accountNonce: AccountNonce,
  chain: NonceProofOptions["chain"],
): Promise<NonceUse | undefined> {
  const [block] = await chain.blocks([height]);
  return block && (useIn(block, height, accountNonce) ?? authorizedUseIn(block, height, accountNonce));
}

/** Reads the use of the nonce from each block; undefined for a block that the node does not have. */
async function usesIn(
  chain: NonceProofOptions["chain"],
  accountNonce: AccountNonce,
  heights: readonly bigint[],
): Promise<(NonceUse | "not used here" | undefined)[]> {
  const blocks = await chain.blocks(heights);
  return heights.map((height, i) => {
    const block = blocks[i];
    return block && (useIn(block, height, accountNonce) ?? "not used here");
  });
}

function useIn(
  { hash: blockHash, transactions: blockTransactions }: BlockWithTransactions,
  blockNumber: bigint,
  { account, nonce }: AccountNonce,
): NonceUse | undefined {
  const transaction = blockTransactions.find((one) => one.nonce === nonce && bytesEqual(one.from, account));
  return transaction && { nonce, transaction, by: "sender", blockNumber, blockHash, blockTransactions };
}

function authorizedUseIn(
  { hash: blockHash, transactions: blockTransactions }: BlockWithTransactions,
  blockNumber: bigint,
  { account, nonce }: AccountNonce,
): NonceUse | undefined {
  const isUse = (authorization: Authorization) => {
    const authority = authorization.nonce === nonce ? authorityOf(authorization) : undefined;
    return authority !== undefined && bytesEqual(authority, account);
  };
  const transaction = blockTransactions.find(({ authorizations }) => authorizations?.some(isUse));
  return (
    transaction && { nonce, transaction, by: "authorization", blockNumber, blockHash, blockTransactions }
  );
}

function range(from: bigint, end: bigint): bigint[] {
  return Array.from({ length: Number(end - from) }, (_, i) => from + BigInt(i));
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function max(first: bigint, ...others: readonly bigint[]): bigint {
  return others.reduce((a, b) => (a > b ? a : b), first);
}
