/** A list in parts of at most so many, in its order; no part of nothing. */
export function chunk<T>(list: readonly T[], most: number): (readonly T[])[] {
  const parts: (readonly T[])[] = [];
  for (let at = 0; at < list.length; at += most) parts.push(list.slice(at, at + most));
  return parts;
}
