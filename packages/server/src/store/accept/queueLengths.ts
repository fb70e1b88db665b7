import { prepared } from "../statements.js";
import type { Store } from "../store.js";

/** Counts the queued submissions of each API key (D22). Keyed by the key's id. */
export async function queueLengths({ pool }: Store, chain: number): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ key_id: string; count: string }>(
    prepared(
      `select key_id, count(*) from unfinished
       where chain = $1 and waiver_nonce is null and state = 'queued' group by key_id`,
      [chain],
    ),
  );
  return new Map(rows.map(({ key_id, count }) => [key_id, Number(count)]));
}
