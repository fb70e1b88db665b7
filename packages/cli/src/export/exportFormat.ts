import type { OutcomeRecord } from "@gas-waiver/server";

/** A format of exported outcomes. Each outcome is one record that ends with a line feed and begins with the id. */
export interface ExportFormat {
  /** The text before the first record. */
  readonly header: string;
  /** The text between the start of a record and its id. */
  readonly beforeId: string;
  /** True if a line feed inside quotation marks belongs to a record. */
  readonly quotesLineFeeds: boolean;
  record(outcome: OutcomeRecord): string;
}

/** The columns of CSV, each with its value; undefined is an empty field. */
const CSV_COLUMNS: Readonly<
  Record<string, (outcome: OutcomeRecord) => string | number | boolean | undefined>
> = {
  id: ({ id }) => id,
  chainId: ({ chainId }) => chainId,
  keyId: ({ keyId }) => keyId,
  state: ({ state }) => state,
  certainty: ({ certainty }) => certainty,
  txHash: ({ txHash }) => txHash,
  sender: ({ sender }) => sender,
  nonce: ({ nonce }) => nonce,
  target: ({ target }) => target,
  selector: ({ selector }) => selector,
  acceptedAt: ({ acceptedAt }) => acceptedAt,
  wrapperHash: ({ wrapperHash }) => wrapperHash,
  waiver: ({ waiver }) => waiver,
  waiverNonce: ({ waiverNonce }) => waiverNonce,
  blockNumber: ({ blockNumber }) => blockNumber,
  blockHash: ({ blockHash }) => blockHash,
  gasUsed: ({ gasUsed }) => gasUsed,
  reverted: ({ reverted }) => reverted,
  errorCode: ({ error }) => error?.code,
  errorReason: ({ error }) => error?.reason,
  errorMessage: ({ error }) => error?.message,
  errorDetails: ({ error }) => error?.details && JSON.stringify(error.details),
  signedAt: ({ signedAt }) => signedAt,
  broadcastAt: ({ broadcastAt }) => broadcastAt,
  includedAt: ({ includedAt }) => includedAt,
  finalAt: ({ finalAt }) => finalAt,
  failedAt: ({ failedAt }) => failedAt,
  signings: ({ signings }) => signings,
};

const readColumns = Object.values(CSV_COLUMNS);

export const EXPORT_FORMATS = {
  ndjson: {
    header: "",
    beforeId: '{"id":"',
    quotesLineFeeds: false,
    record: (outcome) => `${JSON.stringify(outcome)}\n`,
  },
  csv: {
    header: `${Object.keys(CSV_COLUMNS).join(",")}\n`,
    beforeId: "",
    quotesLineFeeds: true,
    record: (outcome) => `${readColumns.map((read) => csvField(read(outcome))).join(",")}\n`,
  },
} as const satisfies Record<string, ExportFormat>;

export type ExportFormatName = keyof typeof EXPORT_FORMATS;

/** Quotes a field as RFC 4180 does, where it needs it. */
function csvField(value: string | number | boolean | undefined): string {
  const text = String(value ?? "");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
