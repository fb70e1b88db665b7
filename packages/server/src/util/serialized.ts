/**
 * Wraps a function so that it runs once at a time. Calls during a run share one further run, which starts after it, so
 * every caller gets a run that started after the call.
 */
export function serialized(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const start = () => {
    running = run().finally(() => {
      running = undefined;
    });
    return running;
  };
  return () => {
    // The next run may be due already after `running` has ended.
    if (next !== undefined) return next;
    if (running === undefined) return start();
    next = running
      .catch(() => {})
      .then(() => {
        next = undefined;
        return start();
      });
    return next;
  };
}
