import { isObject } from "../../chain/rpc/rpc.js";
import { withoutBaseFee } from "../prices.js";

/** A header or a log, written once for all subscriptions. */
export interface Announcement {
  readonly value: unknown;
  readonly text: string;
}

const BODY_FIELDS: ReadonlySet<string> = new Set([
  "transactions",
  "uncles",
  "size",
  "withdrawals",
  "totalDifficulty",
]);

/** A block without its body, as nodes announce it. */
export function announcementOfHeader(block: Readonly<Record<string, unknown>>): Announcement {
  const header = Object.entries(block).filter(([field]) => !BODY_FIELDS.has(field));
  return announcementOf(withoutBaseFee(Object.fromEntries(header)));
}

export function announcementOf(value: unknown): Announcement {
  return { value, text: JSON.stringify(value) };
}

/** The logs of a block that a reorg has removed, the latest first, as geth announces them. */
export function removalsOf(logs: readonly Announcement[]): Announcement[] {
  return logs
    .toReversed()
    .map(({ value }) => announcementOf({ ...(isObject(value) && value), removed: true }));
}
