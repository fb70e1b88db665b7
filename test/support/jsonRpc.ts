/** Calls a JSON-RPC method of a node. Rejects with the node's error. */
export type RpcCall = <T = unknown>(method: string, ...params: readonly unknown[]) => Promise<T>;

/** A JSON-RPC client with fetch alone, one request for each call. */
export function rpcOf(url: string): RpcCall {
  return async <T>(method: string, ...params: readonly unknown[]) => {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    const { result, error } = (await response.json()) as { result: T; error?: { message: string } };
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  };
}
