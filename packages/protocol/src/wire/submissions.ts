import { describeValue } from "../describeValue.js";
import { ProtocolError } from "../protocolError.js";
import {
  parseSubmissionRecord,
  SUBMISSION_STATES,
  type SubmissionRecord,
  type SubmissionStateName,
} from "./submission.js";
import { WireError } from "./WireError.js";

/** Which submissions a list has: those for which all of this holds. */
export interface SubmissionFilter {
  /** An address, 0x-prefixed hex. */
  readonly sender?: string;
  /** The InnerTx's hash (D6), 0x-prefixed hex. A transaction that failed and was tried again has several records. */
  readonly txHash?: string;
  /** Any of these. */
  readonly states?: readonly SubmissionStateName[];
  /** From this moment on, and before that one: by the time in the `id`, which is when the service first saw it. */
  readonly from?: Date;
  readonly to?: Date;
}

/** What `GET /v1/submissions` is asked. */
export interface SubmissionsQuery extends SubmissionFilter {
  /** The most records of one page. */
  readonly limit: number;
  /** Where the page before ended: its `next`. */
  readonly cursor?: string;
}

/** One page of a list, newest first. */
export interface SubmissionPage {
  readonly submissions: readonly SubmissionRecord[];
  /** The `cursor` of the page after this one; not there on the last. A page before the last may be short, or empty. */
  readonly next?: string;
}

/** Records on a page unless asked otherwise, and at most. */
export const DEFAULT_PAGE_SIZE = 50;
export const MAX_PAGE_SIZE = 200;

const PARAMETERS = ["sender", "txHash", "state", "from", "to", "limit", "cursor"];

/**
 * Reads the parameters of a list. One that is not known is refused: a filter that is passed over would answer another
 * question than the one that was asked.
 * @throws {@link ProtocolError} `MALFORMED_QUERY`, which names the parameter and its value.
 */
export function parseSubmissionsQuery(query: Readonly<Record<string, unknown>>): SubmissionsQuery {
  const strange = Object.keys(query).find((name) => !PARAMETERS.includes(name));
  if (strange !== undefined) {
    const message = `there is no parameter ${describeValue(strange)}; there are ${PARAMETERS.join(", ")}`;
    throw new ProtocolError("MALFORMED_QUERY", message);
  }
  const from = readTime(query, "from");
  const to = readTime(query, "to");
  if (from && to && from >= to) {
    throw malformed("to", query.to, `a time after from, ${describeValue(query.from)}`);
  }
  const sender = readText(query, "sender", /^0x[0-9a-f]{40}$/i, "an address: 0x and 40 hex digits");
  const txHash = readText(query, "txHash", /^0x[0-9a-f]{64}$/i, "a hash: 0x and 64 hex digits");
  const cursor = readText(query, "cursor", /^[\w-]{1,64}$/, "`next` of the page before, unchanged");
  const states = readStates(query.state);
  return {
    limit: readLimit(query),
    ...(sender !== undefined && { sender: sender.toLowerCase() }),
    ...(txHash !== undefined && { txHash: txHash.toLowerCase() }),
    ...(states && { states }),
    ...(from && { from }),
    ...(to && { to }),
    ...(cursor !== undefined && { cursor }),
  };
}

/** What was asked, as parameters. */
export function encodeSubmissionsQuery(query: Partial<SubmissionsQuery>): Record<string, string> {
  const { states, from, to, limit, ...texts } = query;
  const parameters = {
    ...texts,
    state: states?.join(","),
    from: from?.toISOString(),
    to: to?.toISOString(),
    limit: limit?.toString(),
  };
  return Object.fromEntries(
    Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

/** @throws {@link WireError} if the value is not a page of a list. */
export function parseSubmissionPage(value: unknown): SubmissionPage {
  const page = typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  const { submissions, next } = page;
  if (!Array.isArray(submissions) || !["undefined", "string"].includes(typeof next)) {
    throw new WireError("the answer is not a list of submissions", value);
  }
  const records = submissions.map(parseSubmissionRecord);
  return { submissions: records, ...(typeof next === "string" && { next }) };
}

function malformed(name: string, value: unknown, rule: string): ProtocolError {
  return new ProtocolError("MALFORMED_QUERY", `${name} is ${describeValue(value)}; it must be ${rule}`, {
    name,
  });
}

function readText(
  query: Readonly<Record<string, unknown>>,
  name: string,
  form: RegExp,
  rule: string,
): string | undefined {
  const value = query[name];
  if (value === undefined) return undefined;
  if (typeof value === "string" && form.test(value)) return value;
  throw malformed(name, value, rule);
}

function readLimit(query: Readonly<Record<string, unknown>>): number {
  const rule = `a whole number from 1 to ${MAX_PAGE_SIZE}`;
  const limit = Number(readText(query, "limit", /^\d{1,9}$/, rule) ?? DEFAULT_PAGE_SIZE);
  if (limit < 1 || limit > MAX_PAGE_SIZE) throw malformed("limit", query.limit, rule);
  return limit;
}

/** `state=a,b`, `state=a&state=b`, or both. */
function readStates(value: unknown): readonly SubmissionStateName[] | undefined {
  if (value === undefined) return undefined;
  const texts = Array.isArray(value) ? value : [value];
  const names = texts.flatMap((text) => (typeof text === "string" ? text.split(",") : [text]));
  const strange = names.find((name) => !SUBMISSION_STATES.some((state) => state === name));
  if (strange !== undefined) throw malformed("state", strange, `one of ${SUBMISSION_STATES.join(", ")}`);
  return SUBMISSION_STATES.filter((state) => names.includes(state));
}

const TIME = /^(\d{4})-(\d\d)-(\d\d)(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;

function readTime(query: Readonly<Record<string, unknown>>, name: string): Date | undefined {
  const rule = "a day (UTC) or a moment with its zone, such as 2030-01-31 or 2030-01-31T12:00:00Z";
  const text = readText(query, name, TIME, rule);
  if (text === undefined) return undefined;
  const [, year, month, day] = TIME.exec(text) ?? [];
  // The platform takes the 30th of February for the 2nd of March.
  const isDay = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day);
  const time = new Date(text);
  if (!isDay || Number.isNaN(time.getTime())) throw malformed(name, text, rule);
  return time;
}
