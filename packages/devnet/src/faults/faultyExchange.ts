import type { RpcResponse } from "../rpc/dispatch.js";
import type { ExchangeFault } from "./faultSettings.js";
import type { Faults } from "./faults.js";

export type Response = RpcResponse | readonly RpcResponse[] | undefined;

/** What becomes of an exchange. How that looks is the transport's business. */
export type Delivery =
  | { readonly kind: "answer"; readonly response: Response }
  /** Nothing comes, and the connection stays open. */
  | { readonly kind: "silence" }
  /** The connection breaks. */
  | { readonly kind: "reset" }
  /** Something that is no JSON-RPC. */
  | { readonly kind: "other"; readonly status: number; readonly body: string };

/** What proxies say in front of a node that is not well. */
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
 * One request or batch on a bad day.
 * @param run answers the text as on a good day.
 */
export async function exchange(
  faults: Faults,
  text: string,
  run: (text: string) => Promise<Response>,
): Promise<Delivery> {
  const { delayMs, fault } = faults.drawExchange(methodsOf(text));
  if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs).unref());
  if (fault === undefined) return { kind: "answer", response: await run(text) };
  if (fault === "partReset") await runPart(faults, text, run);
  else if (isAfter(fault)) await run(text);
  return DELIVERIES[nameOf(fault)] ?? { kind: "reset" };
}

async function runPart(faults: Faults, text: string, run: (text: string) => Promise<Response>) {
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

/** The methods that are asked for; none for what cannot be read, which gets the node's own answer. */
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
