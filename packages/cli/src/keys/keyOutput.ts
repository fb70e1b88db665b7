import type { IssuedKey, KeyRecord } from "@gas-waiver/server";
import type { Context } from "../command.js";

/** Prints a key, as JSON or as lines. */
export function printRecord(record: KeyRecord, json: boolean | undefined, print: Context["print"]): void {
  if (json) print(JSON.stringify(record));
  else for (const line of keyLines(record)) print(line);
}

/** Prints a new key with its secret, which no later command can show. */
export function printIssued(issued: IssuedKey, json: boolean | undefined, print: Context["print"]): void {
  const gatewayPath = issued.record.publishable ? `/rpc/${issued.key}` : undefined;
  if (json) {
    print(JSON.stringify({ ...issued, ...(gatewayPath && { gatewayPath }) }));
    return;
  }
  print(issued.key);
  print(
    issued.record.publishable
      ? "Everybody may see it. Keep it all the same: it is not shown again."
      : "Keep it: it is not shown again.",
  );
  for (const line of keyLines(issued.record)) print(line);
  if (gatewayPath) print(`  RPC URL for wallets: ${gatewayPath} after the URL of the service or network`);
}

/** A key as lines: its state first, then its own limits, caps and targets. */
export function keyLines(record: KeyRecord): string[] {
  const { id, env, label, state, createdAt, expiresAt, disabledAt, revokedAt, previousSecretUntil } = record;
  const times = [
    `created ${createdAt}`,
    ...(expiresAt ? [`${state === "expired" ? "expired" : "expires"} ${expiresAt}`] : []),
    ...(disabledAt ? [`disabled ${disabledAt}`] : []),
    ...(revokedAt ? [`revoked ${revokedAt}`] : []),
    ...(previousSecretUntil ? [`old secret valid until ${previousSecretUntil}`] : []),
  ];
  return [
    `${id}  ${state}, ${record.publishable ? "publishable, " : ""}${env}: ${label}`,
    `  ${times.join(", ")}`,
    ...(record.notUnderstood
      ? [`  refused, because this version does not understand its settings: ${record.notUnderstood}`]
      : []),
    ...(record.origins ? [`  used from ${record.origins.join(", ")}`] : []),
    ...[termLine("limits", record.limits), termLine("caps in a day", record.caps)].flat(),
    ...(record.today ? [`  used until ${record.today.ends}: ${usageText(record.today)}`] : []),
    ...(record.allowedTargets ? [`  may send only ${JSON.stringify(record.allowedTargets)}`] : []),
  ];
}

function termLine(name: string, values: object | undefined): string[] {
  const all = Object.entries(values ?? {}).map(([term, value]) => `${term} ${value}`);
  return all.length > 0 ? [`  ${name}: ${all.join(", ")}`] : [];
}

function usageText({ transactions, gas }: NonNullable<KeyRecord["today"]>): string {
  return `${transactions} transaction(s), ${gas} gas`;
}
