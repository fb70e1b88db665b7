import { bytesEqual } from "@gas-waiver/protocol";
import { inLockedTransaction } from "./database/transaction.js";
import type { Queryable, Store } from "./store.js";
import { FAILED_COLUMNS, finishStatement } from "./transitions/finishStatement.js";

/** The identity of a chain. */
export interface ChainIdentity {
  readonly chainId: number;
  /** The hash of the first block, 32 bytes; {@link UNKNOWN_GENESIS} if the node does not have that block. */
  readonly genesisHash: Uint8Array;
}

/** Stands for the first block of a chain whose node has pruned it. */
export const UNKNOWN_GENESIS: Uint8Array = new Uint8Array(32);

/** A chain that the store knows. */
export interface KnownChain {
  /** The store's own number for the chain. It goes up with each chain. */
  readonly chainRef: number;
  readonly identity: ChainIdentity;
}

/** Finds the chain that the store served last. */
export async function lastChain({ pool }: { readonly pool: Queryable }): Promise<KnownChain | undefined> {
  const { rows } = await pool.query<{ id: number; chain_id: string; genesis_hash: Buffer }>(
    "select id, chain_id, genesis_hash from chains order by id desc limit 1",
  );
  return (
    rows[0] && {
      chainRef: rows[0].id,
      identity: { chainId: Number(rows[0].chain_id), genesisHash: rows[0].genesis_hash },
    }
  );
}

/** The advisory lock that lets one replica at a time adopt a chain. */
const ADOPTION_LOCK = 0x6761_7363;

/**
 * Makes a chain the one that the store serves. If it is another one than before, the unfinished submissions of the
 * earlier chain fail. Of several replicas that start at the same time, the first does this.
 * @returns the store's number for the chain.
 */
export async function adoptChain({ pool }: Pick<Store, "pool">, identity: ChainIdentity): Promise<number> {
  return await inLockedTransaction({ pool }, ADOPTION_LOCK, async (db) => {
    const before = await lastChain({ pool: db });
    const chainRef = before && isSameChain(before.identity, identity) ? before.chainRef : undefined;
    if (before && chainRef === undefined) await endUnfinished(db, before.chainRef);
    return chainRef ?? (await addChain(db, identity));
  });
}

/** Stores the first block of a chain that the store has without it. */
export async function saveGenesis(
  { pool }: Pick<Store, "pool">,
  chainRef: number,
  genesisHash: Uint8Array,
): Promise<void> {
  await pool.query("update chains set genesis_hash = $2 where id = $1 and genesis_hash = $3", [
    chainRef,
    genesisHash,
    UNKNOWN_GENESIS,
  ]);
}

/** Compares two chains, by their ids alone where a first block is not known. */
export function isSameChain(a: ChainIdentity, b: ChainIdentity): boolean {
  if (a.chainId !== b.chainId) return false;
  const isUnknown = [a, b].some(({ genesisHash }) => bytesEqual(genesisHash, UNKNOWN_GENESIS));
  return isUnknown || bytesEqual(a.genesisHash, b.genesisHash);
}

/** A final block that a lane's wrapper is in. */
export interface FinalBlock {
  readonly number: bigint;
  /** 32 bytes. */
  readonly hash: Uint8Array;
}

/** Finds each lane's newest final block of a chain, and some up to a thousand wrappers older; of them all, the highest 50. */
export async function findFinalBlocks({ pool }: Store, chain: number): Promise<FinalBlock[]> {
  const { rows } = await pool.query<{ block_number: string; block_hash: Buffer }>(
    `select block_number, block_hash from lanes l cross join unnest(array[0, 1, 3, 10, 30, 100, 300, 1000]) as wrappers_before
     cross join lateral (
       select block_number, block_hash from finished f
       where f.chain = $1 and f.waiver = l.waiver and f.waiver_nonce is not null and f.id >= recent_outcomes()
       order by f.waiver_nonce desc limit 1 offset wrappers_before) final
     where l.chain = $1
     union
     select old_block_number, old_block_hash from lanes where chain = $1 and old_nonce is not null
     order by block_number desc limit 50`,
    [chain],
  );
  return rows.map((row) => ({ number: BigInt(row.block_number), hash: row.block_hash }));
}

/** The start counts no further than this, because its time must not depend on what is stored. */
export const MAX_COUNTED = 1_000;

/** Counts the submissions of all chains, up to {@link MAX_COUNTED} and one more. */
export async function countSubmissions({ pool }: Pick<Store, "pool">): Promise<number> {
  const { rows } = await pool.query<{ count: string }>(
    `select count(*) from (
       (select from finished limit $1) union all (select from unfinished limit $1) limit $1) counted`,
    [MAX_COUNTED + 1],
  );
  return Number(rows[0]?.count ?? 0);
}

async function addChain(db: Queryable, { chainId, genesisHash }: ChainIdentity): Promise<number> {
  const { rows } = await db.query<{ id: number }>(
    `insert into chains (id, chain_id, genesis_hash)
     select coalesce(max(id), 0) + 1, $1::bigint, $2::bytea from chains returning id`,
    [chainId, genesisHash],
  );
  if (rows[0] === undefined) throw new Error("the database returned no row for the chain");
  return rows[0].id;
}

/** Fails the unfinished submissions of a chain that has ended. */
async function endUnfinished(db: Queryable, chain: number): Promise<void> {
  await db.query(
    `with old as (select $1::integer as chain)${finishStatement(
      "using old where s.chain = old.chain and s.state <> 'included' returning s.*",
      {
        ...FAILED_COLUMNS,
        error_reason: "case state when 'queued' then 'NOT_BROADCAST' else 'NOT_INCLUDED' end",
        error_message: "'the chain that it was for has ended'",
      },
    )}`,
    [chain],
  );
}
