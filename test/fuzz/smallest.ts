/** Tries, each of which asks the service again. */
const MOST_TRIES = 150;

/** Leaves away what is not needed: the pieces, then halves, quarters and so on of what is left. */
export async function smallest(
  pieces: readonly Buffer[],
  holds: (pieces: readonly Buffer[]) => Promise<boolean>,
): Promise<readonly Buffer[]> {
  let tries = 0;
  const test = async (bytes: Buffer) => ++tries <= MOST_TRIES && (await holds([bytes]));
  let bytes = Buffer.concat(pieces);
  if (!(await test(bytes))) return pieces;
  for (let part = bytes.length >> 1; part >= 1; part >>= 1) {
    for (let at = 0; at < bytes.length; ) {
      const shorter = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + part)]);
      if (await test(shorter)) bytes = shorter;
      else at += part;
    }
  }
  return [bytes];
}
