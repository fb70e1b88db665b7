import type { PostgresNode } from "../../packages/server/test/support/postgresNode.js";

/**
 * All that the store has forgotten in failovers to a standby that was behind. Each failover is compared exactly: the rows of
 * the old primary, which has every commit, with those of the new one before any client reached it.
 */
export class StoreLoss {
  readonly #submissions = new Set<string>();
  readonly #failures = new Set<string>();
  readonly #decisions = new Set<string>();

  /** True if the store has forgotten this submission; it may have stored the InnerTx again under another id. */
  hasSubmission(id: string): boolean {
    return this.#submissions.has(id);
  }

  /** True if the store has forgotten that this submission failed. */
  hasFailure(id: string): boolean {
    return this.#failures.has(id);
  }

  /** True if the store has forgotten a line with this id, of a request with an Idempotency-Key. */
  hasDecision(id: string): boolean {
    return this.#decisions.has(id) || this.hasSubmission(id) || this.hasFailure(id);
  }

  /** The number of forgotten submissions. */
  get size(): number {
    return this.#submissions.size;
  }

  /** Compares two servers' databases of this name. */
  async add(database: string, old: PostgresNode, next: PostgresNode): Promise<void> {
    const [before, after] = [await read(old, database), await read(next, database)];
    for (const [id, { state }] of before.submissions) {
      const kept = after.submissions.get(id);
      if (kept === undefined) this.#submissions.add(id);
      if (state === "failed" && kept?.state !== "failed") this.#failures.add(id);
    }
    for (const [name, ids] of before.decisions) {
      const kept = after.decisions.get(name) ?? [];
      for (const [i, id] of ids.entries()) if (kept[i] !== id) this.#decisions.add(id);
    }
  }
}

interface StoredSubmission {
  readonly id: string;
  readonly state: string;
}

const SUBMISSIONS = "select id, state from submissions";
const DECISIONS =
  "select key_id || encode(name_hash, 'hex') as name, ids[1:decided] as ids from keyed_requests";

async function read(server: PostgresNode, database: string) {
  const submissions = await server.queryIn<StoredSubmission>(database, SUBMISSIONS);
  const decisions = await server.queryIn<{ name: string; ids: string[] }>(database, DECISIONS);
  return {
    submissions: new Map(submissions.map((one) => [one.id, one])),
    decisions: new Map(decisions.map(({ name, ids }) => [name, ids])),
  };
}
