import { ROUTES, statusOf } from "@gas-waiver/protocol";
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

/** Holds what a running service answers to what the two documents say. */
export class Description {
  readonly #openApi: OpenApi;
  readonly #asyncApi: AsyncApi;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });
  readonly #validators = new Map<string, ValidateFunction>();

  /** By the documents as they are served, or as they are made. */
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

  /** The statuses that the route may answer, and no others. */
  statusesOf(name: RouteName): number[] {
    return Object.keys(this.#responsesOf(name)).map(Number);
  }

  get closeCodes(): number[] {
    return this.#asyncApi.channels.submit["x-close-codes"].map(({ code }) => code);
  }

  /** What is not as described in an answer of the route; nothing, if all is well. */
  problemsOf(name: RouteName, reply: Reply): string[] {
    const response = this.#responsesOf(name)[reply.status];
    if (response === undefined) return [`status ${reply.status} is not described`];
    const headers = Object.entries(response.headers ?? {}).flatMap(([header, { $ref }]) => {
      const value = reply.headers[header.toLowerCase()];
      if (value === undefined) return [`there is no header ${header}`];
      const isRight = (one: unknown) => this.#isValid({ $ref: `openapi${$ref}/schema` }, one);
      return isRight(value) || isRight(Number(value)) ? [] : [`${header}: ${value} is not as described`];
    });
    return [...headers, ...this.#bodyProblems(response, reply)];
  }

  /** The same for any request; what is behind no route is looked at as a refusal. */
  problemsOfCall(method: string, url: string, reply: Reply): string[] {
    if (method === "HEAD" || reply.headers["content-encoding"] !== undefined || reply.status === 204)
      return [];
    const [path = ""] = url.split("?");
    const names = Object.keys(ROUTES) as RouteName[];
    const isAsked = (name: RouteName) =>
      ROUTES[name].method === method && patternOf(ROUTES[name].path).test(path);
    const name = names.find(isAsked);
    if (name === "docs") return [];
    return name === undefined ? this.problemsOfRefusal(reply) : this.problemsOf(name, reply);
  }

  /** The same for an answer where no route is. */
  problemsOfRefusal(reply: Reply): string[] {
    const reasons = [...NO_ROUTE_REFUSALS, ...COMMON_REFUSALS].filter(
      (reason) => statusOf(reason) === reply.status,
    );
    const schema = { $ref: "#/components/schemas/RequestError" };
    return this.#bodyProblems({ content: { "application/json": { schema } }, "x-reasons": reasons }, reply);
  }

  /** The frame's name in the document, or what is wrong with it. */
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
    const { reason } = (value as { error?: { reason?: string } }).error ?? {};
    return reasons === undefined || reasons.includes(reason ?? "") ? [] : [`${reason} is not described`];
  }
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/:\w+/g, "[^/]*").replaceAll(".", "\\.")}$`);
}

let made: Description | undefined;

/** The one that a test file shares; made when it is needed first. */
export function theDescription(): Description {
  made ??= new Description();
  return made;
}

/** The document with no room for members that it does not name: what the service adds must be described. */
function closed(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(closed);
  const members = Object.entries(value).map(([name, member]) => [name, closed(member)]);
  const { type, properties } = value as { type?: unknown; properties?: unknown };
  const isObject = type === "object" && properties !== undefined;
  return { ...Object.fromEntries(members), ...(isObject && { additionalProperties: false }) };
}
