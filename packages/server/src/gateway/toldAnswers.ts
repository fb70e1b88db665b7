import type { MemoryReservation } from "../model/memoryReservation.js";
import { forgetOldest } from "../util/forgetOldest.js";

/** One exchange with a client: an HTTP request, or a frame of a WebSocket. */
export interface Exchange {
  /**
   * Says that the answer tells the acceptance of a submission.
   * @returns false if an answer that was not lost has told it before.
   */
  tell(submission: string): boolean;
  /** The connection ended before the answer had left: what it told counts as untold. */
  lost(): void;
  /** Counts its answers until they have left, because a client need not read them. */
  readonly memory?: Pick<MemoryReservation, "grow"> | undefined;
}

/** Each is some 100 bytes. Older ones get the hash again, which harms nobody. */
const MAX_REMEMBERED = 100_000;

/** Remembers for which submissions an answer with their hash has left (D18). A client that sends again must learn of it. */
export class ToldAnswers {
  readonly #told = new Set<string>();

  /**
   * @param mayHaveLeft tells whether the client may have left already. Then no answer to it counts as told.
   * @param memory of the exchange, which its owner releases.
   */
  begin(mayHaveLeft = (): boolean => false, memory?: Pick<MemoryReservation, "grow">): Exchange {
    const own = new Set<string>();
    let isLost = false;
    return {
      memory,
      tell: (submission) => {
        if (this.#told.has(submission)) return false;
        if (isLost || mayHaveLeft()) return true;
        own.add(submission);
        this.#told.add(submission);
        forgetOldest(this.#told, MAX_REMEMBERED);
        return true;
      },
      lost: () => {
        isLost = true;
        for (const submission of own) this.#told.delete(submission);
      },
    };
  }
}
