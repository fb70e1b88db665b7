import { isObject } from "../../packages/server/src/chain/rpc/rpcOutcome.js";

/** A JSON-RPC call as it arrives. */
export interface Call {
  readonly id: unknown;
  readonly method: string;
  readonly params: readonly unknown[];
}

export interface CallError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** The answer to one call, without its id. Faults answer with any members. */
export type Reply = { readonly result: unknown } | { readonly error: CallError } | Record<string, unknown>;

/** An HTTP response of a node. */
export interface HttpReply {
  readonly status: number;
  readonly body: string;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One HTTP exchange: its calls in their order, and whether they came as a batch. */
export interface Exchange {
  readonly calls: readonly Call[];
  readonly isBatch: boolean;
  readonly bytes: number;
}

export const SEND = "eth_sendRawTransaction";

export function readExchange(body: string): Exchange {
  const parsed: unknown = JSON.parse(body);
  const list = Array.isArray(parsed) ? parsed : [parsed];
  const calls = list.filter(isObject).map(({ id, method, params }) => ({
    id,
    method: String(method),
    params: Array.isArray(params) ? params : [],
  }));
  return { calls, isBatch: Array.isArray(parsed), bytes: Buffer.byteLength(body) };
}

export function hasSend({ calls }: Exchange): boolean {
  return calls.some(({ method }) => method === SEND);
}

export function errorReply(code: number, message: string, data?: unknown): { error: CallError } {
  return { error: { code, message, ...(data !== undefined && { data }) } };
}

/** Writes the answers in the order of the calls. */
export function writeReplies({ calls, isBatch }: Exchange, replies: readonly Reply[]): HttpReply {
  const answers = replies.map((reply, i) => ({ jsonrpc: "2.0", id: calls[i]?.id, ...reply }));
  return jsonReply(isBatch ? answers : answers[0]);
}

export function jsonReply(value: unknown, status = 200): HttpReply {
  return { status, body: JSON.stringify(value), contentType: "application/json" };
}
