import { MAX_BYTES_AT_ONCE, type RunSlice } from "../../util/slicedJson.js";

/** Lets a large answer wait for the turn of its party: it takes a moment to write, and many clients may have waited for the same one. */
export async function admitAnswer(answer: string | undefined, run: RunSlice): Promise<void> {
  const bytes = answer?.length ?? 0;
  if (bytes > MAX_BYTES_AT_ONCE) await run(bytes, () => {});
}
