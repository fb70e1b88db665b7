import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** The proxy's decision about one call. */
export type Verdict =
  /** The node receives the call, and its answer is passed on. */
  | "pass"
  /** The node does not receive the call, and no answer comes. */
  | "dropRequest"
  /** The node receives the call, and its answer is lost. */
  | "dropResponse"
  /** The node receives the call, and its answer is lost with the connection. */
  | "cutResponse"
  /** The connection is reset, and the node does not receive the call. */
  | "reset"
  /** The proxy answers in the node's place, and the node does not receive the call. */
  | { readonly status: number; readonly body: string };

/** An HTTP proxy between the service and the chain's node. A test decides about each call. */
export class NodeProxy {
  #decide: (call: string) => Verdict = () => "pass";
  readonly #server: Server;
  readonly #node: string;
  #drops = 0;
  #waiting: (() => void) | undefined;

  private constructor(node: string) {
    this.#node = node;
    this.#server = createServer((request, response) => void this.#receive(request, response));
  }

  static async inFrontOf(node: string): Promise<NodeProxy> {
    const proxy = new NodeProxy(node);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Decides about all later calls, by the text of their request. */
  set decide(decide: (call: string) => Verdict) {
    this.#decide = decide;
    this.#drops = 0;
  }

  /** Resolves when a request or a response is dropped; at once if one was since `decide` was set. */
  async dropped(): Promise<void> {
    if (this.#drops > 0) return;
    await new Promise<void>((resolve) => {
      this.#waiting = resolve;
    });
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const call = Buffer.concat(chunks).toString();
    const verdict = this.#decide(call);
    if (verdict === "reset") {
      response.destroy();
    } else if (typeof verdict === "object") {
      response.writeHead(verdict.status, { "content-type": "application/json" }).end(verdict.body);
    } else if (verdict === "dropRequest") {
      this.#drop();
    } else {
      const answer = await fetch(this.#node, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: call,
      });
      const body = await answer.text();
      if (verdict === "dropResponse") this.#drop();
      else if (verdict === "cutResponse") response.destroy();
      else response.writeHead(answer.status, { "content-type": "application/json" }).end(body);
    }
  }

  #drop(): void {
    this.#drops += 1;
    this.#waiting?.();
  }
}
