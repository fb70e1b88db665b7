import { isObject } from "../chain/rpc/rpc.js";
import { ExactNumber } from "../util/slicedJson.js";

// JSON-RPC 2.0 (https://www.jsonrpc.org/specification), as nodes of Ethereum speak it: parameters are a list.

export type RpcId = string | number | null | ExactNumber;

/** A valid request object. */
export interface RpcRequest {
  /** Undefined for a notification, which gets no answer. */
  readonly id: RpcId | undefined;
  readonly method: string;
  readonly params: readonly unknown[];
}

/** The calls of one batch, as geth takes them from a browser's wallet and more. */
export const MAX_GATEWAY_CALLS = 100;

/** The error codes of JSON-RPC, of EIP-1474, and of nodes. */
export const RPC_CODES = {
  parseError: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internalError: -32_603,
  /** Nodes use it for all that is wrong with a transaction, and wallets tell the errors apart by their words. */
  serverError: -32_000,
  transactionRejected: -32_003,
  limitExceeded: -32_005,
} as const;

/** The gateway refuses a call. Its client sees all of it. */
export class GatewayRefusal extends Error {
  override readonly name = "GatewayRefusal";
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export function invalidParams(message: string): GatewayRefusal {
  return new GatewayRefusal(RPC_CODES.invalidParams, message);
}

/** A request that cannot be read, with the id that its answer has. */
export interface UnreadableRequest {
  readonly id: RpcId;
  readonly refusal: GatewayRefusal;
}

/** Reads one request object. */
export function readRequest(value: unknown): RpcRequest | UnreadableRequest {
  if (!isObject(value) || Array.isArray(value)) return unreadable(null, "a request is a JSON object");
  const { jsonrpc, id, method } = value;
  // Nodes take null for no parameters, and some clients write it.
  const params = value.params ?? [];
  if (id !== undefined && !isId(id)) return unreadable(null, "the id is a string, a number or null");
  const answeredId = id ?? null;
  if (jsonrpc !== "2.0") return unreadable(answeredId, 'a request has "jsonrpc": "2.0"');
  if (typeof method !== "string") return unreadable(answeredId, "the method is a string");
  if (!Array.isArray(params)) {
    return { id: answeredId, refusal: invalidParams("the parameters are an array") };
  }
  return { id, method, params };
}

function isId(value: unknown): value is RpcId {
  return (
    typeof value === "string" || typeof value === "number" || value === null || value instanceof ExactNumber
  );
}

function unreadable(id: RpcId, why: string): UnreadableRequest {
  return { id, refusal: new GatewayRefusal(RPC_CODES.invalidRequest, `invalid request: ${why}`) };
}

/** A value as JSON, so that a large one is written once however often it is answered. */
export class EncodedJson {
  readonly text: string;

  constructor(value: unknown) {
    this.text = JSON.stringify(value);
  }
}

/**
 * Writes the answer to a call that succeeded.
 * @param result plain JSON, or {@link EncodedJson}.
 */
export function encodeResult(id: RpcId, result: unknown): string {
  // JSON has no undefined, and an answer without a result would be none.
  return encodeAnswer(id, "result", result ?? null);
}

/** Writes the answer to a call that was refused. */
export function encodeRefusal(id: RpcId, { code, message, data }: GatewayRefusal): string {
  return encodeAnswer(id, "error", { code, message, ...(data !== undefined && { data }) });
}

function encodeAnswer(id: RpcId, member: "result" | "error", content: unknown): string {
  const idText = id instanceof ExactNumber ? id.text : JSON.stringify(id);
  const contentText = content instanceof EncodedJson ? content.text : JSON.stringify(content);
  return `{"jsonrpc":"2.0","id":${idText},"${member}":${contentText}}`;
}

/**
 * Writes the refusal of a message as a whole, with an answer for each of its calls. Clients of a WebSocket know an answer by
 * its id alone, and would wait for it forever.
 * @param message parsed; undefined if it cannot be.
 */
export function encodeRefusalOf(message: unknown, refusal: GatewayRefusal): string {
  if (!Array.isArray(message)) return encodeRefusal(readRequest(message).id ?? null, refusal);
  const isAnswerable = message.length > 0 && message.length <= MAX_GATEWAY_CALLS;
  const ids = isAnswerable ? message.map((call) => readRequest(call).id ?? null) : [];
  if (ids.length === 0) return encodeRefusal(null, refusal);
  return `[${ids.map((id) => encodeRefusal(id, refusal)).join(",")}]`;
}
