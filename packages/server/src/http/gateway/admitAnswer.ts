import type { RunSlice } from "../../util/slicedJson.js";

/** A larger answer takes a moment to write, and many clients may have waited for the same one. */
const MAX_BYTES_AT_ONCE = 65_536;

/** Lets a large answer wait for the turn of its party. */
export async function admitAnswer(answer: string | undefined, run: RunSlice): Promise<void> {
  const bytes = answer?.length ?? 0;
  if (bytes > MAX_BYTES_AT_ONCE) await run(bytes, () => {});
}
