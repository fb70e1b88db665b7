import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** The ways in which a network and its proxies spoil one request for a submit. */
export const MISFORTUNES = [
  "request lost",
  "answer lost",
  "answer cut",
  "answer late",
  "request late",
  "request doubled",
  "refused by a proxy",
  "answered by a stranger",
] as const;

export type Misfortune = (typeof MISFORTUNES)[number];

/** An HTTP proxy in front of the service. A test decides what becomes of each submit; other requests pass. */
export class UnreliableProxy {
  readonly #service: string;
  readonly #decide: () => Misfortune | undefined;
  readonly #lateMs: number;
  readonly #server: Server;
  readonly #late = new Set<Promise<unknown>>();

  private constructor(service: string, lateMs: number, decide: () => Misfortune | undefined) {
    this.#service = service;
    this.#lateMs = lateMs;
    this.#decide = decide;
    this.#server = createServer((request, response) => void this.#receive(request, response));
  }

  /** @param lateMs the time by which a request or an answer is late. */
  static async inFrontOf(service: string, lateMs: number, decide: () => Misfortune | undefined) {
    const proxy = new UnreliableProxy(service, lateMs, decide);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Waits until the service has answered every late request. */
  async settled(): Promise<void> {
    while (this.#late.size > 0) await Promise.allSettled(this.#late);
  }

  async close(): Promise<void> {
    await this.settled();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const isSubmit = request.method === "POST" && request.url?.startsWith("/v1/submit");
    const misfortune = isSubmit ? this.#decide() : undefined;
    const forward = () => this.#forward(request, body);
    if (misfortune === "request lost") return void response.destroy();
    if (misfortune === "refused by a proxy") return void response.writeHead(502).end("bad gateway");
    if (misfortune === "answered by a stranger") return void response.writeHead(200).end("<html></html>");
    if (misfortune === "request late") {
      response.writeHead(504).end("gateway timeout");
      return this.#keep(sleep(this.#lateMs).then(forward));
    }
    if (misfortune === "request doubled") this.#keep(forward());
    const { status, text } = await forward();
    if (misfortune === "answer late") await sleep(this.#lateMs);
    if (misfortune === "answer lost") return void response.destroy();
    response.writeHead(status, { "content-type": "application/x-ndjson" });
    if (misfortune !== "answer cut") return void response.end(text);
    response.write(text.slice(0, text.length / 2), () => response.destroy());
  }

  #keep(work: Promise<unknown>): void {
    this.#late.add(work);
    void work.finally(() => this.#late.delete(work)).catch(() => undefined);
  }

  async #forward({ method = "GET", url = "/", headers }: IncomingMessage, body: string) {
    const fields = Object.fromEntries(
      ["authorization", "content-type", "idempotency-key"].flatMap((name) => {
        const value = headers[name];
        return typeof value === "string" ? [[name, value] as const] : [];
      }),
    );
    const init = { method, headers: fields, ...(method === "POST" && { body }) };
    const answer = await fetch(`${this.#service}${url}`, init);
    return { status: answer.status, text: await answer.text() };
  }
}
