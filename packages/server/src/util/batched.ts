/**
 * Makes one call for all that is asked for while another call runs. So never more than one runs, and each begins after it was asked
 * for.
 * @param run returns the answers in the order of what was asked for.
 */
export function batched<Asked, Answer>(
  run: (asked: readonly Asked[]) => Promise<readonly Answer[]>,
): (asked: Asked) => Promise<Answer | undefined> {
  let running: Promise<unknown> = Promise.resolve();
  let next: { readonly asked: Asked[]; readonly answers: Promise<readonly Answer[]> } | undefined;
  const openNext = () => {
    const asked: Asked[] = [];
    const answers = running.then(() => {
      next = undefined;
      return run(asked);
    });
    running = answers.catch(() => {});
    return { asked, answers };
  };
  return async (one) => {
    next ??= openNext();
    const index = next.asked.push(one) - 1;
    return (await next.answers)[index];
  };
}
