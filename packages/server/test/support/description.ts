import { detailsOf, type ErrorBody, isReason, ROUTES, retryOf, statusOf } from "@gas-waiver/protocol";
import {
  asyncApiOf,
  COMMON_REFUSALS,
  NO_ROUTE_REFUSALS,
  openApiOf,
  type RouteName,
} from "@gas-waiver/protocol/description";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import type { Reply } from "./testService.js";

interface Response {
  readonly headers?: Readonly<Record<string, { readonly $ref: string }>>;
  readonly content?: Readonly<Record<string, { readonly schema?: object }>>;
  readonly "x-reasons"?: readonly string[];
}

interface OpenApi {
  readonly paths: Readonly<
    Record<string, Record<string, { readonly responses: Readonly<Record<string, Response>> }>>
  >;
}

interface AsyncApi {
  readonly components: {
    readonly messages: Readonly<Record<string, { readonly payload: object }>>;
  };
  readonly channels: {
    readonly submit: { readonly "x-close-codes": readonly { readonly code: number }[] };
  };
}

/** Compares the answers of a running service with the OpenAPI and AsyncAPI documents. */
export class Description {
  readonly #openApi: OpenApi;
  readonly #asyncApi: AsyncApi;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });
  readonly #validators = new Map<string, ValidateFunction>();

  /** Uses the given documents. By default, generates them. */
  constructor(
    openApi: object = openApiOf({ version: "0.0.0" }),
    asyncApi: object = asyncApiOf({ version: "0.0.0" }),
  ) {
    this.#openApi = openApi as OpenApi;
    this.#asyncApi = asyncApi as AsyncApi;
    formats.default(this.#ajv);
    this.#ajv.addSchema(closed(openApi) as object, "openapi");
    this.#ajv.addSchema(closed(asyncApi) as object, "asyncapi");
  }

  /** The statuses that the route may answer. */
  statusesOf(name: RouteName): number[] {
    return Object.keys(this.#responsesOf(name)).map(Number);
  }

  get closeCodes(): number[] {
    return this.#asyncApi.channels.submit["x-close-codes"].map(({ code }) => code);
  }

  /** The differences between an answer of the route and its description. Empty if there are none. */
  problemsOf(name: RouteName, reply: Reply): string[] {
    const response = this.#responsesOf(name)[reply.status];
    if (response === undefined) return [`status ${reply.status} is not described`];
    const headers = Object.entries(response.headers ?? {}).flatMap(([header, { $ref }]) => {
      const value = reply.headers[header.toLowerCase()];
      if (value === undefined) return [`there is no header ${header}`];
      const isValid = (candidate: unknown) => this.#isValid({ $ref: `openapi${$ref}/schema` }, candidate);
      return isValid(value) || isValid(Number(value)) ? [] : [`${header}: ${value} is not as described`];
    });
    return [...headers, ...this.#bodyProblems(response, reply)];
  }

  /** {@link problemsOf} for any request. An answer on an unknown path must be a described refusal. */
  problemsOfCall(method: string, url: string, reply: Reply): string[] {
    if (method === "HEAD" || reply.headers["content-encoding"] !== undefined || reply.status === 204)
      return [];
    // The service's address leads to the page; some spellings of a path mean the address, such as `*`.
    if (reply.status === 302)
      return reply.headers.location === ROUTES.docs.path ? [] : [`it leads to ${reply.headers.location}`];
    const [path = ""] = url.split("?");
    const names = Object.keys(ROUTES) as RouteName[];
    const isRequested = (name: RouteName) =>
      ROUTES[name].method === method && patternOf(ROUTES[name].path).test(path);
    const name = names.find(isRequested);
    if (name === "docs") return [];
    return name === undefined ? this.problemsOfRefusal(reply) : this.problemsOf(name, reply);
  }

  /** {@link problemsOf} for an answer on an unknown path. */
  problemsOfRefusal(reply: Reply): string[] {
    const reasons = [...NO_ROUTE_REFUSALS, ...COMMON_REFUSALS].filter(
      (reason) => statusOf(reason) === reply.status,
    );
    const schema = { $ref: "#/components/schemas/RequestError" };
    return this.#bodyProblems({ content: { "application/json": { schema } }, "x-reasons": reasons }, reply);
  }

  /** The name of the frame in AsyncAPI, or a text that says what is wrong with it. */
  nameOfFrame(frame: unknown): string {
    const { messages } = this.#asyncApi.components;
    const names = Object.keys(messages).filter((name) =>
      this.#isValid({ $ref: `asyncapi#/components/messages/${name}/payload` }, frame),
    );
    return names.length === 1 && names[0] !== undefined
      ? names[0]
      : `described ${names.length} times: ${JSON.stringify(frame)}`;
  }

  #isValid(schema: object, value: unknown): boolean {
    const key = JSON.stringify(schema);
    const validator = this.#validators.get(key) ?? this.#ajv.compile(schema);
    this.#validators.set(key, validator);
    return validator(value);
  }

  #responsesOf(name: RouteName): Readonly<Record<string, Response>> {
    const { method, path } = ROUTES[name];
    const operation = this.#openApi.paths[path.replace(/:(\w+)/g, "{$1}")]?.[method.toLowerCase()];
    if (operation === undefined) throw new Error(`${name} is not described`);
    return operation.responses;
  }

  #bodyProblems(response: Response, { headers, text }: Reply): string[] {
    const [type = "", content] = Object.entries(response.content ?? {})[0] ?? [];
    if (content === undefined) return text === "" ? [] : ["there is a body, and none is described"];
    const given = headers["content-type"]?.split(";")[0];
    if (given !== type) return [`the content type is ${given}, not ${type}`];
    if (type === "text/html" || content.schema === undefined) return [];
    const isStream = type === "application/x-ndjson";
    const lines = isStream ? text.trimEnd().split("\n") : [text];
    const schema = JSON.parse(JSON.stringify(content.schema).replaceAll('"#/', '"openapi#/'));
    return lines.flatMap((line) => this.#valueProblems(schema, response, JSON.parse(line)));
  }

  #valueProblems(schema: object, response: Response, value: unknown): string[] {
    if (!this.#isValid(schema, value)) return [`this is not as described: ${JSON.stringify(value)}`];
    const reasons = response["x-reasons"];
    const { error } = value as { error?: ErrorBody };
    const { reason = "" } = error ?? {};
    const isDescribed = reasons === undefined || reasons.includes(reason);
    return [
      ...(isDescribed ? [] : [`${reason} is not described`]),
      ...(error ? problemsOfDetails(error) : []),
    ];
  }
}

/** The details have the class of the retry, and beside it only values that are listed for the reason, of their types. */
export function problemsOfDetails(error: ErrorBody): string[] {
  const { reason = "", details } = error;
  if (!isReason(reason)) return [`${reason} is not a reason`];
  const { retry, ...values } = detailsOf(error, reason) ?? {};
  const isListed = JSON.stringify({ retry, ...values }) === JSON.stringify(details);
  return isListed && retry === retryOf(reason)
    ? []
    : [`${reason} does not have these details: ${JSON.stringify(details)}`];
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/:\w+/g, "[^/]*").replaceAll(".", "\\.")}$`);
}

let sharedDescription: Description | undefined;

/** The description that all tests of a file share. It is created at its first use. */
export function theDescription(): Description {
  sharedDescription ??= new Description();
  return sharedDescription;
}

/** Forbids members that the description does not name, so that everything the service adds must be described. */
function closed(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(closed);
  const members = Object.entries(value).map(([name, member]) => [name, closed(member)]);
  const { type, properties, additionalProperties } = value as Readonly<Record<string, unknown>>;
  const isObject = type === "object" && properties !== undefined && additionalProperties !== true;
  return { ...Object.fromEntries(members), ...(isObject && { additionalProperties: false }) };
}
