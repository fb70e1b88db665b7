import { bytesEqual } from "@gas-waiver/protocol";
import type { Queryable, Store } from "./store.js";
import { toBuffer } from "./submissionRow.js";
import { FAILED_COLUMNS, finishStatement } from "./transitions/finishStatement.js";

/** What the node says it is. */
export interface ChainIdentity {
  readonly chainId: number;
  /** 32 bytes. */
  readonly genesisHash: Uint8Array;
}

/** A chain that the store has served. */
export interface KnownChain {
  /** The store's own number of the chain. */
  readonly chainRef: number;
  readonly identity: ChainIdentity;
}

/** The chain that the store served last, if any. */
export function lastChain({ pool }: Store): Promise<KnownChain | undefined> {
  return latestChain(pool);
}

async function latestChain(db: Queryable): Promise<KnownChain | undefined> {
  const { rows } = await db.query<{ id: number; chain_id: string; genesis_hash: Buffer }>(
    "select id, chain_id, genesis_hash from chains order by id desc limit 1",
  );
  return (
    rows[0] && {
      chainRef: rows[0].id,
      identity: { chainId: Number(rows[0].chain_id), genesisHash: rows[0].genesis_hash },
    }
  );
}

/** Keeps two replicas from adopting a chain at once. */
const ADOPTION_LOCK = 0x6761_7363;

/**
 * Begins to serve a chain: what was under way on the one before can never be executed any more. Of replicas that
 * start at the same time one does it, and the others find it done.
 */
export async function adoptChain({ pool }: Pick<Store, "pool">, identity: ChainIdentity): Promise<number> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    await client.query("select pg_advisory_xact_lock($1)", [ADOPTION_LOCK]);
    const before = await latestChain(client);
    const chainRef = before && isSameChain(before.identity, identity) ? before.chainRef : undefined;
    if (before && chainRef === undefined) await endUnfinished(client, before.chainRef);
    const adopted = chainRef ?? (await addChain(client, identity));
    await client.query("commit");
    client.release();
    return adopted;
  } catch (error) {
    // The connection goes, and with it whatever was begun.
    client.release(true);
    throw error;
  }
}

export function isSameChain(a: ChainIdentity, b: ChainIdentity): boolean {
  return a.chainId === b.chainId && bytesEqual(a.genesisHash, b.genesisHash);
}

/** How many submissions the store holds, of all chains. */
export async function countSubmissions({ pool }: Store): Promise<number> {
  const { rows } = await pool.query<{ count: string }>("select count(*) from submissions");
  return Number(rows[0]?.count ?? 0);
}

async function addChain(db: Queryable, { chainId, genesisHash }: ChainIdentity): Promise<number> {
  const { rows } = await db.query<{ id: number }>(
    "insert into chains (chain_id, genesis_hash) values ($1, $2) returning id",
    [chainId, toBuffer(genesisHash)],
  );
  if (rows[0] === undefined) throw new Error("the store did not take the chain");
  return rows[0].id;
}

/** Nothing of the old chain can be executed any more, so its submissions fail for good. */
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
