import type { OutcomeRecord } from "@gas-waiver/server";

/** A format of exported outcomes. Each outcome is one record that ends with a line feed and begins with the id. */
export interface ExportFormat {
  /** The text before the first record. */
  readonly header: string;
  /** Matches a whole record at the place of `lastIndex`, in bytes that are read as Latin-1. */
  readonly pattern: RegExp;
  record(outcome: OutcomeRecord): string;
}

/** The columns of CSV, in their order. Those of the error are its members. */
const CSV_COLUMNS = `
  id chainId keyId state certainty txHash sender nonce target selector acceptedAt
  wrapperHash waiver waiverNonce blockNumber blockHash gasUsed reverted
  errorCode errorReason errorMessage errorDetails
  signedAt broadcastAt includedAt finalAt failedAt signings`
  .trim()
  .split(/\s+/);

function csvRecord({ error, ...outcome }: OutcomeRecord): string {
  const fields: Readonly<Record<string, unknown>> = {
    ...outcome,
    errorCode: error?.code,
    errorReason: error?.reason,
    errorMessage: error?.message,
    errorDetails: error?.details && JSON.stringify(error.details),
  };
  return `${CSV_COLUMNS.map((column) => csvField(fields[column])).join(",")}\n`;
}

export const EXPORT_FORMATS = {
  ndjson: {
    header: "",
    pattern: /[^\n]*\n/y,
    record: (outcome) => `${JSON.stringify(outcome)}\n`,
  },
  csv: {
    header: `${CSV_COLUMNS.join(",")}\n`,
    // A line feed inside quotation marks belongs to the record.
    pattern: /[^"\n]*(?:"[^"]*"[^"\n]*)*\n/y,
    record: csvRecord,
  },
} as const satisfies Record<string, ExportFormat>;

export type ExportFormatName = keyof typeof EXPORT_FORMATS;

/** Quotes a field as RFC 4180 does, where it needs it. */
function csvField(value: unknown): string {
  const text = String(value ?? "");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
