import type { RpcResponse } from "../rpc/dispatch.js";
import type { ExchangeFault } from "./faultSettings.js";
import type { Faults } from "./faults.js";

export type Response = RpcResponse | readonly RpcResponse[] | undefined;

/** The outcome of an exchange. The transport turns it into bytes or into a broken connection. */
export type Delivery =
  | { readonly kind: "answer"; readonly response: Response }
  /** No response. The connection stays open. */
  | { readonly kind: "silence" }
  /** The connection is reset. */
  | { readonly kind: "reset" }
  /** A response that is not JSON-RPC. */
  | { readonly kind: "other"; readonly status: number; readonly body: string; readonly retryAfter?: number };

/** The page of a proxy in front of a failing node. */
const NOT_JSON = "<html><head><title>502 Bad Gateway</title></head><body>upstream";

const DELIVERIES: Readonly<Record<string, Delivery>> = {
  drop: { kind: "silence" },
  reset: { kind: "reset" },
  http500: { kind: "other", status: 500, body: "internal server error" },
  http429: { kind: "other", status: 429, body: "too many requests" },
  garbage: { kind: "other", status: 200, body: NOT_JSON },
  empty: { kind: "other", status: 200, body: "" },
};

/**
 * Serves one request or batch, unless a fault strikes it.
 * @param run executes the text. Only faults of single calls strike it there.
 * @param address the client's, for an HTTP request.
 */
export async function faultyExchange(
  faults: Faults,
  text: string,
  run: (text: string) => Promise<Response>,
  address?: string,
): Promise<Delivery> {
  const methods = methodsOf(text);
  const retryAfter = address === undefined ? undefined : faults.overLimit(address, methods);
  if (retryAfter !== undefined) return { kind: "other", status: 429, body: "too many requests", retryAfter };
  const { delayMs, fault } = faults.drawExchange(methods);
  if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs).unref());
  if (fault === undefined) return { kind: "answer", response: await run(text) };
  if (fault === "partReset") await runFirstRequests(faults, text, run);
  else if (isAfter(fault)) await run(text);
  return DELIVERIES[nameOf(fault)] ?? { kind: "reset" };
}

async function runFirstRequests(faults: Faults, text: string, run: (text: string) => Promise<Response>) {
  const parsed: unknown = JSON.parse(text);
  const requests: unknown[] = Array.isArray(parsed) ? parsed : [parsed];
  const part = requests.slice(0, faults.drawPart(requests.length));
  if (part.length > 0) await run(JSON.stringify(part));
}

function isAfter(fault: ExchangeFault): boolean {
  return fault.startsWith("after");
}

/** `afterHttp500` looks like `http500` to the client. */
function nameOf(fault: ExchangeFault): string {
  if (!isAfter(fault)) return fault;
  const name = fault.slice("after".length);
  return name.slice(0, 1).toLowerCase() + name.slice(1);
}

/** The methods of the requests. Malformed JSON has none, so that it gets the node's own error. */
function methodsOf(text: string): string[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return [];
  }
  const requests: unknown[] = Array.isArray(parsed) ? parsed : [parsed];
  return requests.flatMap((request) => {
    const method = (request as { method?: unknown } | null)?.method;
    return typeof method === "string" ? [method] : [];
  });
}
