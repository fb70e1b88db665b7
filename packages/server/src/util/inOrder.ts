/** Puts an item into a list that is in the order of a rank, behind those of the same rank. */
export function putInOrder<T>(list: T[], item: T, rankOf: (item: T) => number): void {
  list.splice(placeBehind(list, item, rankOf), 0, item);
}

/** Takes an item out, whose rank is the same as when it was put in. */
export function takeInOrder<T>(list: T[], item: T, rankOf: (item: T) => number): void {
  list.splice(list.lastIndexOf(item, placeBehind(list, item, rankOf) - 1), 1);
}

function placeBehind<T>(list: T[], item: T, rankOf: (item: T) => number): number {
  const rank = rankOf(item);
  let [from, to] = [0, list.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (rankOf(list[middle] as T) <= rank) from = middle + 1;
    else to = middle;
  }
  return from;
}
