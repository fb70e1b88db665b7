/**
 * Finds a part of a list, as small as it can, for which `holds` still is true: it leaves out halves, quarters and so on (delta
 * debugging, Zeller and Hildebrandt 2002).
 */
export async function ddmin<T>(
  list: readonly T[],
  holds: (part: readonly T[]) => Promise<boolean>,
): Promise<readonly T[]> {
  let kept = list;
  for (let parts = 2; kept.length > 1; ) {
    const size = Math.ceil(kept.length / parts);
    const without = await firstWithout(kept, size, holds);
    if (without !== undefined) {
      kept = without;
      parts = Math.max(2, parts - 1);
    } else if (size === 1) break;
    else parts = Math.min(kept.length, 2 * parts);
  }
  return kept.length === 1 && (await holds([])) ? [] : kept;
}

async function firstWithout<T>(
  list: readonly T[],
  size: number,
  holds: (part: readonly T[]) => Promise<boolean>,
): Promise<readonly T[] | undefined> {
  for (let at = 0; at < list.length; at += size) {
    const rest = [...list.slice(0, at), ...list.slice(at + size)];
    if (await holds(rest)) return rest;
  }
  return undefined;
}
