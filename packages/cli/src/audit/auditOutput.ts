import type { AuditRecord } from "@gas-waiver/server";

/** An entry of the audit as lines. */
export function auditLines(entry: AuditRecord): string[] {
  const { at, actor, action, keyId, waiver, tokenId, source, changes } = entry;
  const values = Object.entries(changes).map(([name, { from, to }]) => {
    const before = from === undefined ? "" : `${JSON.stringify(from)} → `;
    return `  ${name}: ${before}${to === undefined ? "none" : JSON.stringify(to)}`;
  });
  const subject = [keyId, waiver].flatMap((one) => (one === undefined ? [] : ` ${one}`)).join("");
  const token = tokenId === undefined ? "" : ` (${tokenId})`;
  const address = source === undefined ? "" : ` from ${source}`;
  return [`${at}  ${action}${subject} by ${actor}${token}${address}`, ...values];
}
