import { hostname, userInfo } from "node:os";
import { allowedTargetsToJson, ProtocolError } from "@gas-waiver/protocol";
import { type OpenKeyAdmin, openKeyAdmin } from "@gas-waiver/server";
import { CommandFailedError } from "../errorMessage.js";
import { allowedTargets, duration, fileOf, orNone, share, text, wholeNumber } from "../settings/parsers.js";
import { InvalidValueError, type Values } from "../settings/setting.js";
import { type StoreValues, withStore } from "./openStore.js";

/** Opens the keys of a service's store, uses them, closes it; a refusal becomes a sentence. */
export function withKeys<T>(values: StoreValues, use: (keys: OpenKeyAdmin) => Promise<T>): Promise<T> {
  return withStore(values, openKeyAdmin, async (keys) => {
    try {
      return await use(keys);
    } catch (error) {
      if (error instanceof ProtocolError) throw new CommandFailedError(error.message, { cause: error });
      throw error;
    }
  });
}

/** Whom the audit names for what the command line does. */
export function commandLineUser(): string {
  let user = "somebody";
  try {
    user = userInfo().username;
  } catch {
    // A container may have a user without a name.
  }
  return `command line, ${user}@${hostname()}`;
}

export const KEY_SETTING = {
  flag: "key",
  placeholder: "ID",
  help: "The key, by its id: the part between the last two underscores.",
  required: true,
  parse(value: string): string {
    if (/^[0-9a-f]{16}$/.test(value)) return value;
    // Somebody gave the whole key: it must not be repeated.
    throw new InvalidValueError("is not the id of a key: 16 hex digits are needed, and never the secret");
  },
  // Who gives the whole key instead is not to see it in the output of a shared terminal.
  secret: true,
} as const;

/** A value of a key's own, or `none`. */
function own<T>(flag: string, placeholder: string, help: string, parse: (value: string) => T) {
  return { flag, placeholder, help: `${help} \`none\`: as the service.`, parse: orNone(parse) } as const;
}

function cap(flag: string, help: string) {
  const parse = orNone(wholeNumber(0));
  return { flag, placeholder: "N", help: `${help} \`none\`: no cap.`, parse } as const;
}

/** What can be set for a key (D22, D25). */
export const TERM_SETTINGS = {
  expires: {
    flag: "expires",
    placeholder: "WHEN",
    help: "When it expires: a time such as 2030-01-31T00:00:00Z, or after 12h, 30d, …; `none`: never.",
    parse: orNone(moment),
  },
  ratePerSecond: own("rate", "N", "Transactions a second.", wholeNumber(1)),
  rateBurst: own("rate-burst", "N", "Transactions at once after a pause.", wholeNumber(1)),
  queueShare: own("queue-share", "SHARE", "The share of the queue, above 0 and at most 1.", share),
  maxBatchSize: own("max-batch-size", "N", "Transactions in one request.", wholeNumber(1)),
  maxBodyBytes: own("max-body-bytes", "BYTES", "Size of a request's body.", wholeNumber(1_024)),
  maxGasLimit: own("max-gas-limit", "GAS", "Gas limit of one transaction.", wholeNumber(21_000)),
  maxDataLength: own("max-data-length", "BYTES", "Calldata of one transaction.", wholeNumber(0)),
  allowedTargets: {
    flag: "allowed-targets",
    placeholder: "FILE",
    help: "What the key may send, as JSON like that of the service, which it narrows. `none`: all that the service may.",
    parse: orNone(fileOf(allowedTargets)),
  },
  transactions: cap("daily-transactions", "Transactions in a day (UTC) of the whole key."),
  gas: cap("daily-gas", "Gas in a day of the whole key."),
  senderTransactions: cap("daily-sender-transactions", "Transactions in a day of each sender."),
  senderGas: cap("daily-sender-gas", "Gas in a day of each sender."),
} as const;

export const LABEL_SETTING = {
  flag: "label",
  placeholder: "TEXT",
  help: "Whose key it is, for people: 1 to 200 characters.",
  parse: text,
} as const;

type Terms = Values<typeof TERM_SETTINGS> & { readonly label?: string | undefined };

/** What was given, as the service reads it. */
export async function keyInput(values: Terms, keys: Pick<OpenKeyAdmin, "now">): Promise<object> {
  const { expires, allowedTargets: targets, label } = values;
  const { ratePerSecond, rateBurst, queueShare, maxBatchSize, maxBodyBytes, maxGasLimit, maxDataLength } =
    values;
  const { transactions, gas, senderTransactions, senderGas } = values;
  const rates = { ratePerSecond, rateBurst, queueShare };
  return {
    ...(label !== undefined && { label }),
    ...(expires !== undefined && { expiresAt: await timeOf(expires, keys) }),
    limits: given({ ...rates, maxBatchSize, maxBodyBytes, maxGasLimit, maxDataLength }),
    ...(targets !== undefined && { allowedTargets: targets && allowedTargetsToJson(targets) }),
    caps: given({ transactions, gas, senderTransactions, senderGas }),
  };
}

function given(values: object): object {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

/** A time, or how far it is away, in ms. */
function moment(value: string): Date | number {
  if (/^\d+[smhd]$/.test(value)) return duration(value);
  const time = /^\d{4}-\d\d-\d\dT/.test(value) ? new Date(value) : undefined;
  if (time !== undefined && !Number.isNaN(time.getTime())) return time;
  throw new InvalidValueError("is neither a time such as 2030-01-31T00:00:00Z nor a span such as 12h or 30d");
}

/** By the database's clock, which the key expires by. */
async function timeOf(
  expires: Date | number | null,
  keys: Pick<OpenKeyAdmin, "now">,
): Promise<string | null> {
  if (expires === null) return null;
  if (expires instanceof Date) return expires.toISOString();
  return new Date((await keys.now()).getTime() + expires).toISOString();
}
