/**
 * The place of a moved submission in the queue of its new lane: the first places, in the order and with the distances that they
 * had, so that a flood that moves does not stand before a single transaction there. On an alias `moved` with the lowest
 * `look_at`.
 * @param head the number of the parameter with the head of that queue; null if it is not known.
 */
export const placeAfterMove = (head: number) =>
  `coalesce($${head}, now()) + least(u.look_at - moved.first, interval '1 minute')`;
