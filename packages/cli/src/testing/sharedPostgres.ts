import { type ScratchPostgres, startScratchPostgres } from "@gas-waiver/server";

/** A database of one service, in the PostgreSQL that all of this process share. */
export interface TakenDatabase {
  readonly url: string;
  /** Drops the database. The last one stops PostgreSQL. */
  close(): Promise<void>;
}

interface Shared {
  readonly postgres: Promise<ScratchPostgres>;
  users: number;
}

/** The PostgreSQL servers of this process, by the folder of their clusters. */
const running = new Map<string, Shared>();

/** Makes an empty database. The first one starts PostgreSQL. */
export async function takeDatabase(cacheDir?: string): Promise<TakenDatabase> {
  const name = cacheDir ?? "";
  const shared = running.get(name) ?? { postgres: startScratchPostgres(cacheDir), users: 0 };
  running.set(name, shared);
  shared.users++;
  const leave = async () => {
    if (--shared.users > 0) return;
    running.delete(name);
    await shared.postgres.then(
      (postgres) => postgres.stop(),
      () => {},
    );
  };
  try {
    const { url, drop } = await (await shared.postgres).createDatabase();
    return {
      url,
      async close() {
        await drop();
        await leave();
      },
    };
  } catch (error) {
    await leave();
    throw error;
  }
}
