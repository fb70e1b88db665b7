import type { AuditRecord, KeyRecord } from "@gas-waiver/server";

/** A key in some lines: its state first, then what is set for it. */
export function describeKey(record: KeyRecord): string[] {
  const { id, env, label, state, createdAt, expiresAt, disabledAt, revokedAt, previousSecretUntil } = record;
  const times = [
    `created ${createdAt}`,
    ...(expiresAt ? [`${state === "expired" ? "expired" : "expires"} ${expiresAt}`] : []),
    ...(disabledAt ? [`disabled ${disabledAt}`] : []),
    ...(revokedAt ? [`revoked ${revokedAt}`] : []),
    ...(previousSecretUntil ? [`old secret good until ${previousSecretUntil}`] : []),
  ];
  return [
    `${id}  ${state}, ${env}: ${label}`,
    `  ${times.join(", ")}`,
    ...(record.notUnderstood
      ? [`  refused, because what is set for it is not understood: ${record.notUnderstood}`]
      : []),
    ...[termLine("limits", record.limits), termLine("caps in a day", record.caps)].flat(),
    ...(record.today ? [`  used until ${record.today.ends}: ${useText(record.today)}`] : []),
    ...(record.allowedTargets ? [`  may send only ${JSON.stringify(record.allowedTargets)}`] : []),
  ];
}

function termLine(what: string, values: object | undefined): string[] {
  const all = Object.entries(values ?? {}).map(([name, value]) => `${name} ${value}`);
  return all.length > 0 ? [`  ${what}: ${all.join(", ")}`] : [];
}

function useText({ transactions, gas }: NonNullable<KeyRecord["today"]>): string {
  return `${transactions} transaction(s), ${gas} gas`;
}

/** One change in some lines. */
export function describeChange({ at, actor, action, keyId, changes }: AuditRecord): string[] {
  const values = Object.entries(changes).map(([name, { from, to }]) => {
    const before = from === undefined ? "" : `${JSON.stringify(from)} → `;
    return `  ${name}: ${before}${to === undefined ? "none" : JSON.stringify(to)}`;
  });
  return [`${at}  ${action} ${keyId} by ${actor}`, ...values];
}
