import { toBuffer } from "./rows.js";
import type { Store } from "./Store.js";

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
export async function lastChain({ pool }: Store): Promise<KnownChain | undefined> {
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

/** Begins to serve a chain: what was under way on the one before can never be executed any more. */
export async function adoptChain(store: Store, { chainId, genesisHash }: ChainIdentity): Promise<number> {
  const before = await lastChain(store);
  if (before) await endUnderWay(store, before.chainRef);
  return addChain(store, chainId, toBuffer(genesisHash));
}

/** How many submissions the store holds, of all chains. */
export async function countSubmissions({ pool }: Store): Promise<number> {
  const { rows } = await pool.query<{ count: string }>("select count(*) from submissions");
  return Number(rows[0]?.count ?? 0);
}

async function addChain(store: Store, chainId: number, genesis: Buffer): Promise<number> {
  const { rows } = await store.pool.query<{ id: number }>(
    "insert into chains (chain_id, genesis_hash) values ($1, $2) returning id",
    [chainId, genesis],
  );
  if (rows[0] === undefined) throw new Error("the store did not take the chain");
  return rows[0].id;
}

/** Nothing of the old chain can be executed any more, so its submissions fail for good. */
async function endUnderWay({ pool }: Store, chain: number): Promise<void> {
  await pool.query(
    `update submissions set state = 'failed', finished_at = now(),
       error_reason = case state when 'queued' then 'NOT_BROADCAST' else 'NOT_INCLUDED' end,
       error_message = 'the chain that it was for has ended'
     where chain = $1 and state in ('queued', 'signed', 'broadcast')`,
    [chain],
  );
}
