import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { request } from "node:https";
import type { AddressInfo } from "node:net";
import { agent, ask } from "./ask.js";
import type { NightReplica } from "./nightReplica.js";

/** The check of `backend` in docs/guides/production.md: each second, one failure takes a server out, one success back in. */
const CHECK_MS = 1_000;
const NO_REPLICA = '{"error":{"code":"UNAVAILABLE","message":"no replica of the service answers"}}';

/**
 * The proxy of the guide, by its rule: requests go in turns to the replicas whose `/readyz` is 200; without one, to any that
 * takes a connection; without one of these, the client gets 503 with `Retry-After`.
 */
export class NightProxy {
  readonly #replicas: readonly NightReplica[];
  readonly #ready = new Set<NightReplica>();
  readonly #server = createServer((incoming, response) => void this.#forward(incoming, response));
  readonly #checks: NodeJS.Timeout;
  #turn = 0;

  constructor(replicas: readonly NightReplica[]) {
    this.#replicas = replicas;
    this.#checks = setInterval(() => {
      for (const replica of replicas) void this.#check(replica);
    }, CHECK_MS);
  }

  async open(): Promise<void> {
    await Promise.all(this.#replicas.map((replica) => this.#check(replica)));
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    clearInterval(this.#checks);
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #check(replica: NightReplica): Promise<void> {
    const answer = await ask(`${replica.metricsUrl}/readyz`, { timeoutMs: 2 * CHECK_MS }).catch(
      () => undefined,
    );
    if (answer?.status === 200) this.#ready.add(replica);
    else this.#ready.delete(replica);
  }

  async #forward(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of incoming) parts.push(part as Buffer);
    const ready = this.#replicas.filter((replica) => this.#ready.has(replica));
    const servers = ready.length > 0 ? ready : this.#replicas;
    const first = this.#turn++ % servers.length;
    this.#pass(incoming, Buffer.concat(parts), response, [
      ...servers.slice(first),
      ...servers.slice(0, first),
    ]);
  }

  #pass(
    { method, url, headers }: IncomingMessage,
    body: Buffer,
    response: ServerResponse,
    [server, ...others]: readonly NightReplica[],
  ): void {
    if (server === undefined) {
      response.writeHead(503, { "content-type": "application/json", "retry-after": "1" }).end(NO_REPLICA);
      return;
    }
    const passed = request(new URL(url ?? "", server.url), { method, headers, agent }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.on("error", () => response.destroy()).pipe(response);
    });
    let isConnected = false;
    const connected = () => {
      isConnected = true;
    };
    passed.on("socket", (socket) => (socket.connecting ? socket.once("connect", connected) : connected()));
    passed.on("error", () => {
      if (isConnected) response.destroy();
      else this.#pass({ method, url, headers } as IncomingMessage, body, response, others);
    });
    response.on("close", () => passed.destroy());
    passed.end(body);
  }
}
