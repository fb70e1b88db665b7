import type { RelayHandler } from "./relayHandler.js";

/** The parts of Node's `IncomingMessage` that {@link nodeListener} uses, and the parsed body of Express or Fastify. */
export interface NodeRequest extends AsyncIterable<Uint8Array> {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  /** Express: the whole path, where `url` lacks the path of the router. */
  readonly originalUrl?: string | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** A socket of TLS has the member `encrypted`. */
  readonly socket?: object | undefined;
  /** The body, if a parser of the framework has read it before. */
  readonly body?: unknown;
}

/** The parts of Node's `ServerResponse` that {@link nodeListener} uses. */
export interface NodeResponse {
  writeHead(status: number, headers: Record<string, string>): unknown;
  flushHeaders(): void;
  write(chunk: Uint8Array): boolean;
  end(): unknown;
  destroy(): unknown;
  once(event: "close" | "drain", listener: () => void): unknown;
  off(event: "close" | "drain", listener: () => void): unknown;
}

/** A listener for `http.createServer`, or a handler of Express. */
export type NodeListener = (request: NodeRequest, response: NodeResponse) => Promise<void>;

/**
 * Makes a listener for `node:http` and Express of a handler: `app.use("/api/gasless", nodeListener(relay))`. In Fastify, call
 * `reply.hijack()` and give it `request.raw` with the parsed `body`, and `reply.raw`. If the caller leaves, the request to the
 * service ends too; what it has accepted goes on.
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { createRelayHandler, nodeListener } from "@gas-waiver/client/relay";
 *
 * const relay = createRelayHandler({ url: "http://127.0.0.1:8080", apiKey: "gw_dev_local", allow: () => true });
 * createServer(nodeListener(relay)).listen(3000, "127.0.0.1");
 * ```
 */
export function nodeListener(handler: RelayHandler): NodeListener {
  return async (incoming, outgoing) => {
    const left = new AbortController();
    const onClose = () => left.abort();
    outgoing.once("close", onClose);
    try {
      const request = requestOf(incoming, left.signal);
      const response = request ? await handler(request) : new Response(null, { status: 400 });
      await sendResponse(response, outgoing, left.signal);
    } catch {
      // The service broke off in the middle. Breaking off too tells the caller that lines are missing.
      outgoing.destroy();
    } finally {
      outgoing.off("close", onClose);
    }
  };
}

/** Returns the request in the form of the web, or undefined if its address cannot be read. */
function requestOf(incoming: NodeRequest, signal: AbortSignal): Request | undefined {
  const { method = "GET", originalUrl, url = "/", headers, socket, body } = incoming;
  const host = typeof headers.host === "string" ? headers.host : "";
  const target = originalUrl ?? url;
  // The path stands behind the host as text: as a reference of its own, `//elsewhere/` would name another host.
  const address = `${socket && "encrypted" in socket ? "https" : "http"}://${host}${target}`;
  if (!/^[\w.:[\]-]+$/.test(host) || !target.startsWith("/") || !URL.canParse(address)) return undefined;
  const fields = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !name.startsWith(":")) fields.set(name, [value].flat().join(", "));
  }
  if (method === "GET" || method === "HEAD") return new Request(address, { method, headers: fields, signal });
  // A parser has read the stream, so its length and encoding no longer hold.
  if (body !== undefined) fields.delete("content-length");
  const content = body === undefined ? streamOf(incoming) : JSON.stringify(body);
  const init: RequestInit & { duplex: "half" } = {
    method,
    headers: fields,
    signal,
    body: content,
    duplex: "half",
  };
  return new Request(address, init);
}

function streamOf(incoming: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const chunks = incoming[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
}

async function sendResponse(response: Response, outgoing: NodeResponse, left: AbortSignal): Promise<void> {
  if (left.aborted) return await response.body?.cancel();
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  // The caller learns the status before the first line is known.
  outgoing.flushHeaders();
  const reader = response.body?.getReader();
  while (reader) {
    const { done, value } = await reader.read();
    if (done) break;
    if (left.aborted) return await reader.cancel();
    if (!outgoing.write(value)) await drained(outgoing);
  }
  outgoing.end();
}

function drained(outgoing: NodeResponse): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      outgoing.off("drain", settle);
      outgoing.off("close", settle);
      resolve();
    };
    outgoing.once("drain", settle);
    outgoing.once("close", settle);
  });
}
