import { define } from "../../define.js";
import { describeValue } from "../../describeValue.js";
import { ProtocolError } from "../../protocolError.js";
import { FAILED_SAMPLE, INCLUDED_SAMPLE, WAITING_SAMPLE } from "../samples.js";
import { objectSchema, schemaOf } from "../schema.js";
import { fits, type Members, type TypeOf } from "../shape.js";
import {
  parseSubmissionRecord,
  SUBMISSION_RECORD_SCHEMA,
  SUBMISSION_STATES,
  type SubmissionStateName,
} from "../submissionRecord.js";
import { WireError } from "../wireError.js";
import { defineRoute, type Route } from "./routeDefinition.js";

export const SUBMISSIONS_ROUTE = {
  method: "GET",
  path: "/v1/submissions",
  authenticated: true,
} as const satisfies Route;

/** A filter of submissions. All of its members must hold. */
export interface SubmissionFilter {
  /** An address as 0x-prefixed hex. */
  readonly sender?: string;
  /** The InnerTx's hash (D6) as 0x-prefixed hex. A transaction tried again after a failure has several records. */
  readonly txHash?: string;
  /** Any of these states. */
  readonly states?: readonly SubmissionStateName[];
  /** The start of the period, by the time in the `id`, which is when the service first saw the submission. */
  readonly from?: Date;
  /** The end of the period: the first moment that is no longer in it. */
  readonly to?: Date;
}

/** The query parameters of the route. */
export interface SubmissionsQuery extends SubmissionFilter {
  /** The most records of one page. */
  readonly limit: number;
  /** The `next` of the page before. */
  readonly cursor?: string;
}

const SUBMISSION_PAGE = {
  submissions: ["list", parseSubmissionRecord],
  /** The `cursor` of the next page. Absent on the last page only; a page before it may be short, or empty. */
  next: "text?",
} as const satisfies Members;

/** The body of the response: one page of records, newest first. */
export interface SubmissionPage extends TypeOf<typeof SUBMISSION_PAGE> {}

/** Records on a page, unless the request says otherwise. */
export const DEFAULT_PAGE_SIZE = 50;
/** The most records on a page. */
export const MAX_PAGE_SIZE = 200;

const PARAMETERS = ["sender", "txHash", "state", "from", "to", "limit", "cursor"];

/**
 * Reads the query parameters. An unknown parameter is refused, because to ignore a misspelt filter would return the
 * wrong records.
 * @throws {@link ProtocolError} `MALFORMED_QUERY`; the message names the parameter and its value.
 * @example
 * ```ts
 * parseSubmissionsQuery({ state: "queued,signed", from: "2030-01-31" });
 * // { limit: 50, states: ["queued", "signed"], from: Date }
 * ```
 */
export function parseSubmissionsQuery(query: Readonly<Record<string, unknown>>): SubmissionsQuery {
  const unknownName = Object.keys(query).find((name) => !PARAMETERS.includes(name));
  if (unknownName !== undefined) {
    const message = `there is no parameter ${describeValue(unknownName)}; there are ${PARAMETERS.join(", ")}`;
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

/**
 * Writes the query parameters.
 * @example
 * ```ts
 * const query = new URLSearchParams(encodeSubmissionsQuery({ states: ["failed"], limit: 10 }));
 * console.log(`/v1/submissions?${query}`); // "/v1/submissions?state=failed&limit=10"
 * ```
 */
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

/**
 * Reads the body of a response of `GET /v1/submissions`.
 * @throws {@link WireError} if the value is not such a body.
 * @example
 * ```ts
 * const { submissions, next } = parseSubmissionPage(await response.json());
 * ```
 */
export function parseSubmissionPage(value: unknown): SubmissionPage {
  if (!fits(SUBMISSION_PAGE, value)) throw new WireError("the answer is not a list of submissions", value);
  const { submissions, next } = value;
  const records = submissions.map(parseSubmissionRecord);
  return { submissions: records, ...(next !== undefined && { next }) };
}

function malformed(name: string, value: unknown, rule: string): ProtocolError {
  return new ProtocolError("MALFORMED_QUERY", `${name} is ${describeValue(value)}; it must be ${rule}`, {
    parameter: name,
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

/** Reads `state=a,b`, `state=a&state=b`, or both. */
function readStates(value: unknown): readonly SubmissionStateName[] | undefined {
  if (value === undefined) return undefined;
  const texts = Array.isArray(value) ? value : [value];
  const names = texts.flatMap((text) => (typeof text === "string" ? text.split(",") : [text]));
  const unknownName = names.find((name) => !SUBMISSION_STATES.some((state) => state === name));
  if (unknownName !== undefined)
    throw malformed("state", unknownName, `one of ${SUBMISSION_STATES.join(", ")}`);
  return SUBMISSION_STATES.filter((state) => names.includes(state));
}

const TIME_FORM = /^(\d{4})-(\d\d)-(\d\d)(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d))?$/;

function readTime(query: Readonly<Record<string, unknown>>, name: string): Date | undefined {
  const rule = "a day (UTC) or a time with its time zone, such as 2030-01-31 or 2030-01-31T12:00:00Z";
  const text = readText(query, name, TIME_FORM, rule);
  if (text === undefined) return undefined;
  const [, year, month, day] = TIME_FORM.exec(text) ?? [];
  // `Date` turns the 30th of February into the 2nd of March.
  const isDay = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day);
  const time = new Date(text);
  if (!isDay || Number.isNaN(time.getTime())) throw malformed(name, text, rule);
  return time;
}

const SUBMISSION_PAGE_SCHEMA = /* @__PURE__ */ define(() =>
  objectSchema(SUBMISSION_PAGE, "One page of a list of submissions.", {
    submissions: { type: "array", items: SUBMISSION_RECORD_SCHEMA, description: "Newest first." },
    next: "The `cursor` of the next page. Absent on the last page only; a page before it may be short, or empty.",
  }),
);

export default /* @__PURE__ */ defineRoute(() => ({
  summary: "List the submissions of this key",
  text: [
    "A page of records, newest first. The response's `next` is the `cursor` of the next page; only the last page has none. Filters can be combined. Later pages do not have the submissions that arrive meanwhile, and a submission that moves on meanwhile is on one page only. A key sees its own submissions only.",
    "An unknown parameter is refused, so that a misspelt filter is not ignored.",
  ],
  parameters: [
    { in: "query", name: "sender", description: "The sender's address.", schema: schemaOf("address") },
    {
      in: "query",
      name: "txHash",
      description: "The InnerTx's hash. It has several records if it failed and was tried again.",
      schema: schemaOf("hash"),
    },
    {
      in: "query",
      name: "state",
      description: `Any of the states ${SUBMISSION_STATES.join(", ")}: separated by commas, or in several parameters.`,
      schema: schemaOf("text"),
    },
    {
      in: "query",
      name: "from",
      description:
        "The start of the period, by the time in the `id`, which is when the service first saw the submission: a day (UTC) or a time with its time zone.",
      schema: schemaOf("text"),
    },
    {
      in: "query",
      name: "to",
      description: "The end of the period: the first moment that is no longer in it.",
      schema: schemaOf("text"),
    },
    {
      in: "query",
      name: "limit",
      description: `Records on a page; ${DEFAULT_PAGE_SIZE} if it is absent.`,
      schema: { type: "integer", minimum: 1, maximum: MAX_PAGE_SIZE },
    },
    { in: "query", name: "cursor", description: "The `next` of the page before.", schema: schemaOf("text") },
  ],
  responses: {
    200: {
      description: "The page.",
      contentType: "application/json",
      schema: SUBMISSION_PAGE_SCHEMA,
      headers: ["Cache-Control"],
    },
  },
  refusals: ["RATE_EXCEEDED", "QUEUE_AT_CAPACITY", "STORE_UNAVAILABLE"],
  curl: `curl "$URL/v1/submissions?state=failed&limit=10" -H "Authorization: Bearer $API_KEY"`,
  sdk: `for await (const record of client.list({ states: ["failed"] })) console.log(record.id, record.error);`,
  schemas: {
    SubmissionPage: {
      schema: SUBMISSION_PAGE_SCHEMA,
      examples: [
        { submissions: [INCLUDED_SAMPLE, FAILED_SAMPLE, WAITING_SAMPLE], next: "AZ47HH1SfE6aO18MLY5qcQ" },
        { submissions: [] },
      ],
      read: parseSubmissionPage,
    },
  },
}));
