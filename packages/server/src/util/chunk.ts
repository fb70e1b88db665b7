/** Splits a list into parts of at most `size` items, in order. An empty list has no parts. */
export function chunk<T>(list: readonly T[], size: number): (readonly T[])[] {
  const parts: (readonly T[])[] = [];
  for (let start = 0; start < list.length; start += size) parts.push(list.slice(start, start + size));
  return parts;
}
