import type { Exchange } from "../../gateway/toldAnswers.js";
import type { RunSlice } from "../../util/slicedJson.js";
import type { MemoryReservation } from "../limits/bodyMemoryBudget.js";

/** A larger answer takes a moment to write, and many clients may have waited for the same one. */
const MAX_BYTES_AT_ONCE = 65_536;

/**
 * Counts an answer until it has left, because a client need not read it, and lets a large one wait for the turn of its party.
 * @param memory of the request.
 * @throws {@link ProtocolError} `BODIES_AT_CAPACITY`. Then the answer is lost.
 */
export async function admitAnswer(
  answer: string | undefined,
  exchange: Pick<Exchange, "lost">,
  memory: Pick<MemoryReservation, "grow"> | undefined,
  run: RunSlice,
): Promise<void> {
  const bytes = answer?.length ?? 0;
  try {
    memory?.grow(bytes);
  } catch (error) {
    exchange.lost();
    throw error;
  }
  if (bytes > MAX_BYTES_AT_ONCE) await run(bytes, () => {});
}
