/** The publishable key of the tests. A service has it in `publicApiKeys`. */
export const GATEWAY_KEY = "gwp_test_gateway";

/** The error of a call, as the gateway writes it. */
export interface RpcErrorAnswer {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** A client of the gateway that shows whole answers. */
export class GatewayClient {
  readonly url: string;

  constructor(serviceUrl: string, key = GATEWAY_KEY) {
    this.url = `${serviceUrl}/rpc/${key}`;
  }

  async post(body: string, headers: Readonly<Record<string, string>> = {}) {
    const response = await fetch(this.url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
    });
    const text = await response.text();
    const json: unknown = text === "" ? undefined : JSON.parse(text);
    return { status: response.status, headers: response.headers, json };
  }

  /** Makes a call, and returns its result. @throws if it is refused. */
  async call(method: string, ...params: unknown[]): Promise<unknown> {
    const { json } = await this.#ask(method, params);
    if (!("result" in json)) throw new Error(`${method}: ${JSON.stringify(json)}`);
    return json.result;
  }

  /** Makes a call that the gateway or the node refuses. @throws if it succeeds. */
  async refusal(method: string, ...params: unknown[]): Promise<RpcErrorAnswer> {
    const { json } = await this.#ask(method, params);
    if (json.error === undefined) throw new Error(`${method} has succeeded: ${JSON.stringify(json)}`);
    return json.error;
  }

  async #ask(method: string, params: readonly unknown[]) {
    const { json, ...rest } = await this.post(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
    return { ...rest, json: json as { readonly result?: unknown; readonly error?: RpcErrorAnswer } };
  }
}
