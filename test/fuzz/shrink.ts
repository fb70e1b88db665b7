/** Each try sends a request to the service. */
const MAX_TRIES = 150;

/** Reduces bytes for which `holds` is true: it removes halves, quarters and so on, as long as `holds` stays true. */
export async function shrink(
  pieces: readonly Buffer[],
  holds: (pieces: readonly Buffer[]) => Promise<boolean>,
): Promise<readonly Buffer[]> {
  let tries = 0;
  const test = async (bytes: Buffer) => ++tries <= MAX_TRIES && (await holds([bytes]));
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
