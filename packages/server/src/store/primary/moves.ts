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
/** The role may not call a function, or the server does not have it. */
const NOT_PERMITTED: ReadonlySet<string | undefined> = new Set(["42501", "0A000", "42883"]);

export type StoreMoves = ReturnType<typeof createStoreMoves>;

/** Knows whether the store has lately come to another server, where it may lack its last commits. */
export function createStoreMoves(db: Queryable, log: Logger, clock: Pick<DatabaseClock, "longBefore">) {
  const identities = [...IDENTITIES];
  let last: { readonly at: number; readonly answer: Promise<string | undefined> } | undefined;
  let afterMove: { readonly move: string; readonly height: bigint } | undefined;
  /** The time of the last move; undefined if there was none lately. */
  const findMove = async (): Promise<string | undefined> => {
    for (;;) {
      const [identity] = identities;
      if (identity === undefined) return undefined;
      try {
        return await recordAndCompare(db, identity, clock.longBefore(LOSS_ASSUMED_MS));
      } catch (error) {
        if (!NOT_PERMITTED.has((error as { code?: string }).code)) throw error;
        // Another question may have come to the same end meanwhile.
        if (identities[0] === identity) identities.shift();
        if (identities.length === 0) log.warn({ err: (error as Error).message }, NOT_SEEN);
      }
    }
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
