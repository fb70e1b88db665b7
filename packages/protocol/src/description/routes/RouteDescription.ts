import type { Reason } from "../../reasons.js";
import type { NDJSON } from "../../wire/routes.js";
import type { Schema, SchemaName } from "../../wire/schema/index.js";
import type { HeaderName } from "../headers.js";

export interface ParameterDescription {
  readonly in: "path" | "query" | "header";
  readonly name: string;
  readonly description: string;
  readonly schema: Schema;
  readonly required?: boolean;
}

/** An answer that is no error. */
export interface AnswerDescription {
  readonly description: string;
  /** What the body is, or each line of it. */
  readonly schema?: SchemaName;
  readonly contentType?: "application/json" | "text/html" | typeof NDJSON;
  /** Which of the definition's examples show it; all of them unless said. */
  readonly examples?: readonly number[];
  /** Header fields that the answer always has. */
  readonly headers?: readonly HeaderName[];
}

/**
 * What the descriptions say of one route. Method, path and authentication are in ROUTES; the statuses and headers of
 * refusals follow from their reasons, and what any route can answer is in `common.ts`.
 * Texts are plain sentences with code in backticks; a paragraph is one string.
 */
export interface RouteDescription {
  readonly summary: string;
  readonly text: readonly string[];
  readonly parameters?: readonly ParameterDescription[];
  readonly body?: SchemaName;
  readonly answers: Readonly<Record<number, AnswerDescription>>;
  /** Why a request can be refused whole, besides what `common.ts` has. */
  readonly refusals: readonly Reason[];
  readonly curl: string;
  /** The same with `@gas-waiver/client`, where it has it. */
  readonly sdk?: string;
}
