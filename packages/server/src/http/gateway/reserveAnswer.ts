import type { Exchange } from "../../gateway/toldAnswers.js";
import type { MemoryReservation } from "../limits/bodyMemoryBudget.js";

/**
 * Counts an answer until it has left: a node's may be a thousand times larger than the call, and a client need not read it.
 * @throws {@link ProtocolError} `BODIES_AT_CAPACITY`. Then the answer is lost.
 */
export function reserveAnswer(
  answer: string | undefined,
  exchange: Pick<Exchange, "lost">,
  memory: Pick<MemoryReservation, "grow"> | undefined,
): void {
  try {
    memory?.grow(answer?.length ?? 0);
  } catch (error) {
    exchange.lost();
    throw error;
  }
}
