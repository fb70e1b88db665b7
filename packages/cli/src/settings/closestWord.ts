/** The most letters that a misspelt word may differ in. */
const MAX_DISTANCE = 3;

/** Finds the word that was probably meant; undefined if none is close. */
function closestWord(word: string, words: readonly string[]): string | undefined {
  const likely = words
    .map((candidate) => ({ candidate, distance: distanceOf(word, candidate) }))
    .filter(({ distance }) => distance <= Math.min(MAX_DISTANCE, word.length / 2))
    .sort((a, b) => a.distance - b.distance);
  return likely[0]?.candidate;
}

/** Says which of the known words an unknown one probably means; nothing if none is close. */
export function hintOf(word: string, known: readonly string[]): string {
  const closest = closestWord(word, known);
  return closest === undefined ? "" : `; there is ${closest}`;
}

/** The number of letters to insert, remove or replace (Levenshtein). */
function distanceOf(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...b].entries()) {
      const replaced = (row[j] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
