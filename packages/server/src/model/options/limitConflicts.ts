import type { ResolvedOptions } from "./options.js";

type Limits = Pick<
  ResolvedOptions,
  "headTimeoutMs" | "bodyTimeoutMs" | "maxBodyBytes" | "maxHeldBytes" | "rateBurst" | "maxBatchSize"
>;

/** Finds limits that contradict each other. `{name}` in a problem is an option. */
export function limitConflicts(limits: Limits): string[] {
  const { headTimeoutMs, bodyTimeoutMs, maxBodyBytes, maxHeldBytes, rateBurst, maxBatchSize } = limits;
  return [
    ...(headTimeoutMs > bodyTimeoutMs
      ? [
          `{headTimeoutMs} is ${headTimeoutMs}, longer than a whole request may take ({bodyTimeoutMs} ${bodyTimeoutMs})`,
        ]
      : []),
    ...(maxBodyBytes > maxHeldBytes
      ? [
          `{maxBodyBytes} is ${maxBodyBytes}: such a body could never pass, since {maxHeldBytes} is ${maxHeldBytes}`,
        ]
      : []),
    ...(rateBurst < maxBatchSize
      ? [`{rateBurst} is ${rateBurst}: a batch of {maxBatchSize} (${maxBatchSize}) could never pass`]
      : []),
  ];
}
