import type { ExplainedSubmission } from "@gas-waiver/server";

/** An explained submission as lines for a person: what and why first, then the facts. */
export function whyLines({
  record,
  keyId,
  ageSeconds,
  lane,
  owner,
  why,
  nodeSaid,
  next,
}: ExplainedSubmission): string[] {
  const { id, state, txHash, sender, nonce, wrapperHash, waiverNonce } = record;
  const wrapper = wrapperHash === undefined ? [] : [`  wrapper ${wrapperHash}, nonce ${waiverNonce}`];
  return [
    `${id}  ${state}, accepted ${ageSeconds} s ago by key ${keyId}`,
    `  why: ${why}`,
    ...(nodeSaid === undefined ? [] : [`  the node said: ${nodeSaid}`]),
    `  next: ${next}`,
    `  transaction ${txHash}, of ${sender} with nonce ${nonce}`,
    ...wrapper,
    `  lane ${lane}, worked by ${owner ?? "nobody"}`,
  ];
}

/** The causes of many stuck submissions, the most frequent first. */
export function causeLines(submissions: readonly ExplainedSubmission[]): string[] {
  const counts = new Map<string, number>();
  for (const { why, next } of submissions) {
    const cause = `${why}\n  next: ${next}`;
    counts.set(cause, (counts.get(cause) ?? 0) + 1);
  }
  return [...counts]
    .sort(([, one], [, other]) => other - one)
    .flatMap(([cause, count]) => `${count} × ${cause}`.split("\n"));
}
