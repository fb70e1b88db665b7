import type { Session } from "./graphene.js";

export type SessionPool = ReturnType<typeof createSessionPool>;

/**
 * Sessions of a token. Each makes one signature at a time, so that as many are made at once as there are sessions.
 * @param open opens a session; it throws if the token is gone.
 */
export function createSessionPool(open: () => Session, size: number) {
  const free: Session[] = [];
  const waiting: (() => void)[] = [];
  let places = size;
  return {
    /** Uses a session alone. One whose use failed is closed, because its state is not known. */
    async use<T>(run: (session: Session) => Promise<T>): Promise<T> {
      if (places === 0) await new Promise<void>((resolve) => waiting.push(resolve));
      else places--;
      try {
        const session = free.pop() ?? open();
        const result = await run(session).catch((error) => {
          closeQuietly(session);
          throw error;
        });
        free.push(session);
        return result;
      } finally {
        const next = waiting.shift();
        if (next) next();
        else places++;
      }
    },
  };
}

function closeQuietly(session: Session): void {
  try {
    session.close();
  } catch {
    // The token has closed it already.
  }
}
