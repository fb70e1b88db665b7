import type { Logger } from "../../model/telemetry/log.js";
import type { DatabaseClock } from "../clock/databaseClock.js";
import type { Queryable } from "../database/database.js";

/**
 * The blocks after a move in which a pool's wrappers had their chance. It is more than one or two, because a lost wrapper may
 * wait in the pool for nonces below it, which the lane has to fill first.
 */
const BLOCKS_AFTER_MOVE = 20n;

/** For this time after a move, a wrapper on the chain that the store does not know counts as lost by the store. */
const LOSS_ASSUMED_MS = 3_600_000;

const TIMELINE = "('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int";
/**
 * The server by its identity and timeline; where that is not permitted, by its timeline alone, which tells a promoted standby
 * and not a copy of another server.
 */
const IDENTITIES = [
  `select system_identifier as system, ${TIMELINE} as timeline from pg_control_system()`,
  `select 0::bigint as system, ${TIMELINE} as timeline`,
];
/** Whether the server has the functions of each, and the role may call them. */
const PERMITTED = `
  select array[system and timeline, timeline] as permitted
  from (select has_function_privilege(to_regprocedure('pg_control_system()'), 'execute') as system,
               has_function_privilege(to_regprocedure('pg_current_wal_lsn()'), 'execute')
                 and has_function_privilege(to_regprocedure('pg_walfile_name(pg_lsn)'), 'execute') as timeline) t`;
const FEATURE_NOT_SUPPORTED = "0A000";

export type StoreMoves = ReturnType<typeof createStoreMoves>;

/** Knows whether the store has lately come to another server, where it may lack its last commits. */
export function createStoreMoves(db: Queryable, log: Logger, clock: Pick<DatabaseClock, "longBefore">) {
  const unsupported = new Set<string>();
  let isWarned = false;
  let last: { readonly at: number; readonly answer: Promise<string | undefined> } | undefined;
  let afterMove: { readonly move: string; readonly height: bigint } | undefined;
  /** The time of the last move; undefined if there was none lately. */
  const findMove = async (): Promise<string | undefined> => {
    const [row] = (await db.query<{ permitted: readonly boolean[] }>(PERMITTED)).rows;
    for (const identity of IDENTITIES.filter((_, i) => row?.permitted[i])) {
      if (unsupported.has(identity)) continue;
      try {
        return await recordAndCompare(db, identity, clock.longBefore(LOSS_ASSUMED_MS));
      } catch (error) {
        if ((error as { code?: string }).code !== FEATURE_NOT_SUPPORTED) throw error;
        unsupported.add(identity);
      }
    }
    if (!isWarned) log.warn(NOT_SEEN);
    isWarned = true;
    return undefined;
  };
  const lastMove = (maxAgeMs = 0) => {
    const now = performance.now();
    if (last === undefined || now - last.at >= maxAgeMs) {
      const answer = findMove();
      const asked = { at: now, answer };
      last = asked;
      answer.catch(() => {
        if (last === asked) last = undefined;
      });
    }
    return last.answer;
  };
  return {
    /** Returns a name of the move for which `hasMoved` is true, which no other move has; undefined where it is false. */
    lastMove,
    /**
     * True for an hour after the store was first seen on another server, or on another timeline, than before: a standby was
     * promoted, or a backup was restored. False if the role may not see that.
     * @param maxAgeMs an answer of this age will do; by default the database is asked.
     */
    hasMoved: async (maxAgeMs?: number) => (await lastMove(maxAgeMs)) !== undefined,
    /**
     * True if the chain has had blocks since the last move was first seen here, or if the store has not moved lately. Before
     * that, a pool may hold wrappers that the store has lost, and a sender's missing nonce may be in one of them.
     * @param readHeight reads the chain's latest height. It is asked only after a move.
     */
    async isChainPastMove(readHeight: () => Promise<bigint>) {
      const move = await findMove();
      if (move === undefined) return true;
      const height = await readHeight();
      if (afterMove?.move !== move) afterMove = { move, height };
      return height >= afterMove.height + BLOCKS_AFTER_MOVE;
    },
  };
}

const NOT_SEEN =
  "this role may not see the database's timeline: after a failover that loses commits, wrappers that only the chain has count as foreign uses of a waiver's key; grant execute on pg_current_wal_lsn and pg_walfile_name";

/** @returns when the store came to the present server; undefined if that was long ago, or if it is the first. */
async function recordAndCompare(db: Queryable, identity: string, longAgo: Date): Promise<string | undefined> {
  await db.query(`insert into database_servers (system, timeline) ${identity} on conflict do nothing`);
  const { rows } = await db.query<{ first_seen: string }>(
    `select first_seen::text from database_servers present
     where (system, timeline) = (${identity}) and first_seen > $1
       -- A role that has lost a permission, or got it, sees the same server by another identity.
       and exists (select from database_servers earlier
                   where earlier.first_seen < present.first_seen and (earlier.system = 0) = (present.system = 0))`,
    [longAgo],
  );
  return rows[0]?.first_seen;
}
