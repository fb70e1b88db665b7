import type { Reason } from "../../reasons/index.js";
import type { HeaderName } from "../responseHeaders.js";
import type { NDJSON } from "../resultLine.js";
import type { NamedSchema, Schema } from "../schema.js";

/** The place of a route. In the path, `:name` stands for a parameter. */
export interface Route {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** Whether a request needs an API key in the header `Authorization`. */
  readonly authenticated: boolean;
}

export interface ParameterDescription {
  readonly in: "path" | "query" | "header";
  readonly name: string;
  readonly description: string;
  readonly schema: Schema;
  readonly required?: boolean;
}

/** A response that is not a refusal. */
export interface ResponseDescription {
  readonly description: string;
  /** The schema of the body, or of each of its lines. */
  readonly schema?: Schema;
  readonly contentType?: "application/json" | "text/html" | typeof NDJSON;
  /** The positions of the schema's examples that show this response. All examples do if it is absent. */
  readonly examples?: readonly number[];
  /** The header fields that the response always has. */
  readonly headers?: readonly HeaderName[];
}

/**
 * The definition of a route for the descriptions, beside the codec in the route's module. Texts are plain sentences
 * with code in backticks; each string is a paragraph. Refusals for a bad API key, for a request that is not well-formed
 * and for a fault of the service are the same for all routes, and are not repeated here.
 */
export interface RouteDefinition<
  Schemas extends Readonly<Record<string, NamedSchema>> = Readonly<Record<string, NamedSchema>>,
> {
  readonly summary: string;
  readonly text: readonly string[];
  readonly parameters?: readonly ParameterDescription[];
  /** The schema of the request's body. */
  readonly body?: Schema;
  readonly responses: Readonly<Record<number, ResponseDescription>>;
  /** The reasons for which a request is refused as a whole. */
  readonly refusals: readonly Reason[];
  /** A call with curl. */
  readonly curl: string;
  /** The same call with `@gas-waiver/client`, if it has one. */
  readonly sdk?: string;
  /** The schemas that the route uses, by their names in the descriptions. */
  readonly schemas: Schemas;
}

/** As {@link define}, for the definition of a route. */
export function defineRoute<const S extends Readonly<Record<string, NamedSchema>>>(
  make: () => RouteDefinition<S>,
): RouteDefinition<S> {
  return make();
}
