import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What stands between the service and the chain's node decides about each call of it. */
export type Verdict =
  /** The call reaches the node and its answer comes back. */
  | "pass"
  /** The call never reaches the node, and nobody answers. */
  | "dropRequest"
  /** The call reaches the node, and nobody answers. */
  | "dropResponse"
  /** As if nothing were listening: the connection breaks. */
  | "reset"
  /** The node answers with an error of its own. */
  | { readonly status: number; readonly body: string };

/** The chain's node as the service sees it, with a test in between that decides what gets through. */
export class NodeProxy {
  #decide: (call: string) => Verdict = () => "pass";
  readonly #server: Server;
  readonly #node: string;
  #stops = 0;
  #waiting: (() => void) | undefined;

  private constructor(node: string) {
    this.#node = node;
    this.#server = createServer((request, response) => void this.#receive(request, response));
  }

  static async inFrontOf(node: string): Promise<NodeProxy> {
    const gate = new NodeProxy(node);
    await new Promise<void>((resolve) => gate.#server.listen(0, "127.0.0.1", resolve));
    return gate;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** From now on this decides, by the text of a call. */
  set decide(decide: (call: string) => Verdict) {
    this.#decide = decide;
    this.#stops = 0;
  }

  /** Resolves when a call has been held or swallowed; at once if that has been since the last decision. */
  async dropped(): Promise<void> {
    if (this.#stops > 0) return;
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
      this.#stop();
    } else {
      const answer = await fetch(this.#node, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: call,
      });
      const body = await answer.text();
      if (verdict === "dropResponse") this.#stop();
      else response.writeHead(answer.status, { "content-type": "application/json" }).end(body);
    }
  }

  #stop(): void {
    this.#stops += 1;
    this.#waiting?.();
  }
}
