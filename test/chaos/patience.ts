import type { Environment } from "./environment.js";

const POLL_MS = 500;

export interface Patience {
  /** Aborted once nothing has finished for the time. */
  readonly signal: AbortSignal;
  end(): void;
}

/**
 * Waits for the service as long as submissions finish: the time of the whole depends on the machine.
 * @param timeoutMs the longest time in which none does, in ms.
 */
export function startPatience({ query }: Pick<Environment, "query">, timeoutMs: number): Patience {
  const ending = new AbortController();
  const timer = setInterval(() => void look(), POLL_MS);
  let finished = "";
  let since = performance.now();
  const look = async () => {
    const sql = "select count(*) from submissions where state in ('included', 'failed')";
    const [row] = await query<{ count: string }>(sql).catch(() => []);
    if (row && row.count !== finished) {
      finished = row.count;
      since = performance.now();
    }
    if (performance.now() - since > timeoutMs) ending.abort();
  };
  return { signal: ending.signal, end: () => clearInterval(timer) };
}
