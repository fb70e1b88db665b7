import type { Failure } from "../model/submission/submission.js";
import { byteaArray } from "./database/statements.js";
import { inTransaction } from "./database/transaction.js";
import type { ChangedSubmission } from "./lanes/heldLane.js";
import type { Queryable, Store } from "./store.js";
import { FAILED_COLUMNS, finishStatement } from "./transitions/finishStatement.js";

/** An account and its next nonce by the chain. */
export interface AccountNonce {
  /** 20 bytes. */
  readonly account: Uint8Array;
  readonly next: bigint;
}

/** Finds the accounts whose nonces the store has in blocks of a chain: senders and waivers. */
export async function findAccounts({ pool }: Store, chain: number): Promise<Uint8Array[]> {
  const { rows } = await pool.query<{ account: Buffer }>(
    `select sender as account from finished where chain = $1 and state = 'included'
     union select sender from unfinished where chain = $1 and state = 'included'
     union select sender from sender_nonces where chain = $1
     union select waiver from lanes where chain = $1`,
    [chain],
  );
  return rows.map(({ account }) => account);
}

/** The rows of `chain_nonces`: parameters $2 and $3. */
const NONCES = "chain_nonces (account, next) as (select * from unnest($2::bytea[], $3::numeric[]))";

/** Whether the store has a nonce of one of these accounts in a block that the chain says is not used. */
export async function hasLostNonces(
  { pool }: Store,
  chain: number,
  nonces: readonly AccountNonce[],
): Promise<boolean> {
  const { rows } = await pool.query<{ has_lost: boolean }>(
    // The highest nonce of each account is the end of an index, however many there are.
    `with ${NONCES}
     select exists (select from chain_nonces n cross join lateral (
         (select f.sender_nonce as nonce from finished f
          where f.chain = $1 and f.sender = n.account and f.state = 'included' order by f.sender_nonce desc limit 1)
         union all
         (select f.waiver_nonce from finished f
          where f.chain = $1 and f.waiver = n.account and f.waiver_nonce is not null order by f.waiver_nonce desc limit 1)
       ) highest where highest.nonce >= n.next)
       or exists (select from chain_nonces n join unfinished u
         on u.chain = $1 and u.sender = n.account and u.state = 'included' and u.sender_nonce >= n.next)
       or exists (select from chain_nonces n join unfinished u
         on u.chain = $1 and u.waiver = n.account and u.state = 'included' and u.waiver_nonce >= n.next)
       as has_lost`,
    [chain, ...parameters(nonces)],
  );
  return rows[0]?.has_lost === true;
}

/** The failure of what is not on the chain any more. */
export const REWOUND: Failure = {
  reason: "NOT_INCLUDED",
  message: "the chain went back, and does not have the transaction any more; send it again",
  values: {},
};

/**
 * Brings the store to a chain whose developer has taken it back on purpose. What is not on the chain any more fails, also if it
 * had succeeded, and so does everything unfinished. Nonces that the chain has not used are free again.
 * @returns those that were unfinished.
 */
export async function rewind(
  { pool }: Store,
  chain: number,
  nonces: readonly AccountNonce[],
): Promise<ChangedSubmission[]> {
  const all = [chain, ...parameters(nonces)];
  return await inTransaction({ pool }, async (db) => {
    const ended = await endUnfinished(db, all);
    await db.query(
      `with ${NONCES} update finished f set state = 'failed', error_reason = 'NOT_INCLUDED', error_message = $4,
         waiver_nonce = null, wrapper_hash = null, block_number = null, block_hash = null, gas_used = null, reverted = null,
         included_at = null
       from chain_nonces n
       where f.chain = $1 and f.state = 'included' and f.sender = n.account and f.sender_nonce >= n.next`,
      [...all, REWOUND.message],
    );
    await db.query(
      `with ${NONCES} update finished f set waiver_nonce = null from chain_nonces n
       where f.chain = $1 and f.waiver = n.account and f.waiver_nonce >= n.next`,
      all,
    );
    await db.query(
      `with ${NONCES} update sender_nonces s set next = n.next from chain_nonces n
       where s.chain = $1 and s.sender = n.account and s.next > n.next`,
      all,
    );
    await resetLanes(db, all);
    return ended;
  });
}

async function endUnfinished(db: Queryable, all: readonly unknown[]): Promise<ChangedSubmission[]> {
  const lost = `s.chain = $1 and (s.state <> 'included'
    or exists (select from chain_nonces n where n.account = s.sender and s.sender_nonce >= n.next))`;
  const { rows } = await db.query<ChangedSubmission>(
    `with ${NONCES}${finishStatement(`where ${lost} returning s.*`, {
      ...FAILED_COLUMNS,
      error_reason: "'NOT_INCLUDED'",
      error_message: "$4::text",
      ...{
        block_number: "null",
        block_hash: "null",
        gas_used: "null",
        reverted: "null",
        included_at: "null",
      },
    })}`,
    [...all, REWOUND.message],
  );
  return rows;
}

/** Has the lanes begin at the chain's nonces, and forgets wrappers and whole requests that may be of the lost blocks. */
async function resetLanes(db: Queryable, all: readonly unknown[]): Promise<void> {
  await db.query(
    `with ${NONCES} update lanes l set old_nonce = null, old_block_number = null, old_block_hash = null
     from chain_nonces n where l.chain = $1 and l.waiver = n.account and l.old_nonce >= n.next`,
    all,
  );
  const [chain] = all;
  await db.query(
    "update lanes set nonce_floor = 0, known_below = null, foreign_uses = 0, broken_until = '-infinity' where chain = $1",
    [chain],
  );
  await db.query("delete from withdrawn where chain = $1", [chain]);
  await db.query("delete from keyed_requests where chain = $1", [chain]);
}

function parameters(nonces: readonly AccountNonce[]): readonly unknown[] {
  return [byteaArray(nonces.map(({ account }) => account)), nonces.map(({ next }) => next.toString())];
}
