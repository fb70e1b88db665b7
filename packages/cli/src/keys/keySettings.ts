import { allowedTargetsToJson, ProtocolError } from "@gas-waiver/protocol";
import { DEFAULT_ADDRESS_LIMITS, type OpenKeyAdmin, openKeyAdmin } from "@gas-waiver/server";
import { CommandFailedError } from "../errorMessage.js";
import { duration, orNone, share, text, wholeNumber } from "../settings/parsers.js";
import { keyOrigins, targetListOrFile } from "../settings/serviceValues.js";
import {
  InvalidValueError,
  splitValues,
  type Values,
  withFlags,
  withoutUndefined,
} from "../settings/setting.js";
import { type StoreValues, withStore } from "../store/withStore.js";

/**
 * Opens the API keys of a service's store, uses them and closes the store.
 * @throws {@link CommandFailedError} if the store cannot be opened, or the keys' rules refuse the change.
 */
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

export const KEY_SETTING = {
  placeholder: "ID",
  help: "Id of the key: the part of it between its last two underscores.",
  required: true,
  parse(value: string): string {
    if (/^[0-9a-f]{16}$/.test(value)) return value;
    throw new InvalidValueError("is not the id of a key: 16 hex digits are needed, and never the secret");
  },
  // A person may give the whole key by mistake. `secret` keeps it out of the error message.
  secret: true,
} as const;

/** A limit of one key. `none` removes it, so that the service's own limit holds. */
function keyLimit<T>(flag: string, placeholder: string, help: string, parse: (value: string) => T) {
  return { flag, placeholder, help: `${help} \`none\`: the service's.`, parse: orNone(parse) } as const;
}

/** A daily cap of one key. `none` removes it. */
function dailyCap(flag: string, placeholder: string, help: string) {
  return { flag, placeholder, help: `${help} \`none\`: no cap.`, parse: orNone(wholeNumber(0)) } as const;
}

const LIMIT_SETTINGS = {
  ratePerSecond: keyLimit("rate", "N", "Most transactions a second, on average.", wholeNumber(1)),
  rateBurst: keyLimit("rate-burst", "N", "Most transactions at once after a pause.", wholeNumber(1)),
  queueShare: keyLimit("queue-share", "SHARE", "Largest share of the queue, above 0 and at most 1.", share),
  maxBatchSize: keyLimit("max-batch-size", "N", "Most transactions in one request.", wholeNumber(1)),
  maxBodyBytes: keyLimit("max-body-bytes", "BYTES", "Largest body of a request.", wholeNumber(1_024)),
  maxGasLimit: keyLimit("max-gas-limit", "GAS", "Highest gas limit of a transaction.", wholeNumber(21_000)),
  maxDataLength: keyLimit("max-data-length", "BYTES", "Longest calldata of a transaction.", wholeNumber(0)),
} as const;

const ADDRESS_SETTINGS = {
  addressRatePerSecond: {
    flag: "address-rate",
    placeholder: "N",
    help: `Most transactions a second of each address under a publishable key, on each replica. \`none\`: ${DEFAULT_ADDRESS_LIMITS.addressRatePerSecond}.`,
    parse: orNone(wholeNumber(1)),
  },
  addressRateBurst: {
    flag: "address-burst",
    placeholder: "N",
    help: `Most transactions of such an address at once after a pause. \`none\`: ${DEFAULT_ADDRESS_LIMITS.addressRateBurst}.`,
    parse: orNone(wholeNumber(1)),
  },
} as const;

const CAP_SETTINGS = {
  transactions: dailyCap("daily-transactions", "N", "Most transactions in a day (UTC), of all senders."),
  gas: dailyCap("daily-gas", "GAS", "Most gas in a day (UTC), of all senders."),
  senderTransactions: dailyCap(
    "daily-sender-transactions",
    "N",
    "Most transactions in a day (UTC), of each sender.",
  ),
  senderGas: dailyCap("daily-sender-gas", "GAS", "Most gas in a day (UTC), of each sender."),
} as const;

/** The terms of a key: its expiry, limits, targets and caps (D22, D25). */
export const TERM_SETTINGS = withFlags({
  expires: {
    placeholder: "WHEN",
    help: "Expiry: a time such as 2030-01-31T00:00:00Z, or a duration from now such as 12h or 30d. `none`: never.",
    parse: orNone(timeOrDuration),
  },
  ...LIMIT_SETTINGS,
  allowedTargets: {
    placeholder: "LIST",
    help: 'What the key may send, within what the service may: contracts, each with its selectors, such as 0x…:0xa9059cbb:0x095ea7b3,0x…, or a JSON file: [{"address": "0x…" or "*", "selectors": ["0x…"]}]. `none`: all that the service may.',
    parse: orNone(targetListOrFile),
  },
  origins: {
    placeholder: "LIST",
    help: "Origins whose pages may use a publishable key, such as https://app.example.com; `loopback` for pages on the user's own machine, `wallets` for programs, native wallets and browser extensions, `*` for every page.",
    parse: keyOrigins,
  },
  ...ADDRESS_SETTINGS,
  ...CAP_SETTINGS,
});

export const LABEL_SETTING = {
  placeholder: "TEXT",
  help: "Name of the key for people, 1 to 200 characters.",
  parse: text,
} as const;

type Terms = Values<typeof TERM_SETTINGS> & { readonly label?: string | undefined };

/** The given settings in the shape that the service's key administration reads. */
export async function keyInput(values: Terms, keys: Pick<OpenKeyAdmin, "now">): Promise<object> {
  const { expires, allowedTargets: targets, label, origins } = values;
  const [limits] = splitValues({ ...LIMIT_SETTINGS, ...ADDRESS_SETTINGS }, values);
  const [caps] = splitValues(CAP_SETTINGS, values);
  return withoutUndefined({
    ...{ label, expiresAt: await timeOf(expires, keys), origins, limits: withoutUndefined(limits) },
    ...{ allowedTargets: targets && allowedTargetsToJson(targets), caps: withoutUndefined(caps) },
  });
}

/** Parses a time, or a duration from now in ms. */
function timeOrDuration(value: string): Date | number {
  if (/^\d+[smhd]$/.test(value)) return duration(value);
  const time = /^\d{4}-\d\d-\d\dT/.test(value) ? new Date(value) : undefined;
  if (time !== undefined && !Number.isNaN(time.getTime())) return time;
  throw new InvalidValueError(
    "is neither a time such as 2030-01-31T00:00:00Z nor a duration such as 12h or 30d",
  );
}

/** The time as ISO 8601. A duration counts from now by the database's clock, which also decides the expiry. */
async function timeOf(
  expires: Date | number | null | undefined,
  keys: Pick<OpenKeyAdmin, "now">,
): Promise<string | null | undefined> {
  if (expires === null || expires === undefined) return expires;
  if (expires instanceof Date) return expires.toISOString();
  return new Date((await keys.now()).getTime() + expires).toISOString();
}
