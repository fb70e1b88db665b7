import type { Session } from "./graphene.js";

/** Sessions of a token. Each makes one signature at a time, so that as many are made at once as there are sessions. */
export class SessionPool {
  readonly #open: () => Session;
  readonly #free: Session[] = [];
  readonly #waiting: (() => void)[] = [];
  #places: number;

  /** @param open opens a session; it throws if the token is gone. */
  constructor(open: () => Session, size: number) {
    this.#open = open;
    this.#places = size;
  }

  /** Uses a session alone. One whose use failed is closed, because its state is not known. */
  async use<T>(run: (session: Session) => Promise<T>): Promise<T> {
    if (this.#places === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#places--;
    try {
      const session = this.#free.pop() ?? this.#open();
      const result = await run(session).catch((error) => {
        closeQuietly(session);
        throw error;
      });
      this.#free.push(session);
      return result;
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#places++;
    }
  }
}

function closeQuietly(session: Session): void {
  try {
    session.close();
  } catch {
    // The token has closed it already.
  }
}
