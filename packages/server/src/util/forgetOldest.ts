/** More than a lane usually has in flight and in its queue at a time. */
const MOST = 10_000;

/**
 * Forgets the entry of a map or set that was put in first, where there are more than `most`. Called after each entry, it bounds what is
 * remembered. Whoever puts an entry in again behind the others deletes it before.
 */
export function forgetOldest<K>(remembered: Map<K, unknown> | Set<K>, most = MOST): void {
  if (remembered.size <= most) return;
  for (const oldest of remembered.keys()) {
    remembered.delete(oldest);
    return;
  }
}
