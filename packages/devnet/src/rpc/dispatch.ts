import { RPC_CODES, RpcError, toRpcError } from "./errors.js";
import type { Connection, Methods, Params } from "./method.js";
import { shortJson } from "./params.js";

export type RpcId = string | number | null;

export type RpcResponse = { readonly jsonrpc: "2.0"; readonly id: RpcId } & (
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } }
);

const MAX_BATCH = 5_000;

/**
 * Answers a JSON-RPC 2.0 request or batch, given as text. It never throws. The requests of a batch run one after the
 * other, so that transactions keep their order.
 * @returns undefined if all requests were notifications, which get no response.
 */
export async function answer(
  methods: Methods,
  text: string,
  connection?: Connection,
): Promise<RpcResponse | readonly RpcResponse[] | undefined> {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return failure(null, new RpcError(RPC_CODES.parseError, `the body is not JSON: ${message}`));
  }
  if (!Array.isArray(body)) return answerOne(methods, body, connection);
  if (body.length === 0) return failure(null, new RpcError(RPC_CODES.invalidRequest, "the batch is empty"));
  if (body.length > MAX_BATCH) {
    const message = `the batch has ${body.length} requests, at most ${MAX_BATCH} are taken`;
    return failure(null, new RpcError(RPC_CODES.invalidRequest, message));
  }
  const responses: RpcResponse[] = [];
  for (const request of body as unknown[]) {
    const response = await answerOne(methods, request, connection);
    if (response !== undefined) responses.push(response);
  }
  return responses.length === 0 ? undefined : responses;
}

async function answerOne(
  methods: Methods,
  request: unknown,
  connection: Connection | undefined,
): Promise<RpcResponse | undefined> {
  let id: RpcId = null;
  let isNotification = false;
  try {
    const { method, params, ...rest } = readRequest(request);
    id = rest.id ?? null;
    isNotification = rest.id === undefined;
    const result = await call(methods, method, params, connection);
    return isNotification ? undefined : { jsonrpc: "2.0", id, result };
  } catch (error) {
    return isNotification ? undefined : failure(idOf(request) ?? id, toRpcError(error));
  }
}

/** Runs one method. @throws the method's error, or {@link RpcError} if there is no such method. */
export async function call(
  methods: Methods,
  method: string,
  params: Params,
  connection?: Connection,
): Promise<unknown> {
  const run = Object.hasOwn(methods, method) ? methods[method] : undefined;
  if (run === undefined) {
    throw new RpcError(RPC_CODES.methodNotFound, `the method ${shortJson(method)} does not exist`);
  }
  return run(params, connection);
}

function readRequest(request: unknown): { id: RpcId | undefined; method: string; params: Params } {
  if (typeof request !== "object" || request === null || Array.isArray(request)) {
    throw new RpcError(RPC_CODES.invalidRequest, `a request is an object, not ${shortJson(request)}`);
  }
  const { id, method, params } = request as { id?: unknown; method?: unknown; params?: unknown };
  if (typeof method !== "string") {
    throw new RpcError(RPC_CODES.invalidRequest, `method is ${shortJson(method)}, not a string`);
  }
  if (id !== undefined && idOf(request) === undefined) {
    throw new RpcError(RPC_CODES.invalidRequest, `id is ${shortJson(id)}, not a string, number or null`);
  }
  if (params !== undefined && params !== null && !Array.isArray(params)) {
    throw new RpcError(RPC_CODES.invalidParams, `params is ${shortJson(params)}, not a list`);
  }
  return { id: idOf(request), method, params: Array.isArray(params) ? params : [] };
}

function idOf(request: unknown): RpcId | undefined {
  if (typeof request !== "object" || request === null || !("id" in request)) return undefined;
  const { id } = request;
  return typeof id === "string" || typeof id === "number" || id === null ? id : undefined;
}

/** A response with an error. */
export function failure(id: RpcId, { code, message, data }: RpcError): RpcResponse {
  return { jsonrpc: "2.0", id, error: { code, message, ...(data !== undefined && { data }) } };
}
