/**
 * Carries out a step that may take blocks or nonces of the chain back.
 * @param step resolves to false if it has changed nothing.
 * @returns the result of the step.
 */
export type GoBack = (step: () => Promise<boolean>) => Promise<boolean>;

/**
 * Lets one listener act before and after the chain goes back, such as a service whose transactions are on it. Steps run
 * one after the other, so that no listener meets the next one before it is done with the last.
 */
export function createGoingBack() {
  let around: GoBack = (step) => step();
  let last: Promise<unknown> = Promise.resolve();
  return {
    goBack(step: () => Promise<boolean>) {
      const next = last.then(() => around(step));
      last = next.catch(() => {});
      return next;
    },
    /** Calls `around`, instead of an earlier one, with each step back. It must call the step once. */
    setAround(given: GoBack) {
      around = given;
    },
  };
}
