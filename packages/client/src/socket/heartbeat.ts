/** The longest silence of a connection while answers are due. */
const SILENCE_LIMIT_MS = 40_000;

/**
 * Notices that the other side of a connection is gone without having closed it. A connection that is silent while answers
 * are due is probed, and counts as lost when the probe is not answered either.
 */
export function createHeartbeat(probe: () => void, onLost: () => void) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Stops watching: no answer is due any more. */
  const stop = () => clearTimeout(timer);
  /** Starts the silence anew: a frame came, or one that will be answered was sent. */
  const reset = () => {
    stop();
    timer = setTimeout(() => {
      probe();
      timer = setTimeout(onLost, SILENCE_LIMIT_MS);
    }, SILENCE_LIMIT_MS);
  };
  return { reset, stop };
}
