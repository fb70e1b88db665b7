import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** The ways to cut a connection: refuse new ones, reset all at once, or keep them open and pass no bytes. */
export const CUTS = ["refuse", "reset", "hang"] as const;
export type Cut = (typeof CUTS)[number];

/** A TCP proxy in front of a port, which can be cut and healed. */
export class TcpProxy {
  readonly #target: number;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #port = 0;
  #cut: Cut | undefined;

  private constructor(target: number) {
    this.#target = target;
  }

  static async inFrontOf(url: string): Promise<TcpProxy> {
    const proxy = new TcpProxy(Number(new URL(url).port));
    await proxy.#listen();
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async cut(kind: Cut): Promise<void> {
    this.#cut = kind;
    if (kind === "hang") {
      for (const socket of this.#sockets) socket.pause().unpipe();
      return;
    }
    if (kind === "refuse") await this.close();
    else this.#destroyAll();
  }

  async heal(): Promise<void> {
    this.#cut = undefined;
    // Connections that hung are lost, as after a real partition.
    this.#destroyAll();
    if (this.#server === undefined) await this.#listen();
  }

  async close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    const closed = new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)));
    this.#destroyAll();
    await closed;
  }

  #destroyAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async #listen(): Promise<void> {
    const server = createServer({ noDelay: true }, (socket) => this.#forward(socket));
    await new Promise<void>((resolve) => server.listen(this.#port, "127.0.0.1", resolve));
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  #forward(socket: Socket): void {
    this.#track(socket);
    if (this.#cut === "reset") socket.destroy();
    if (this.#cut !== undefined) return;
    const upstream = connect(this.#target, "127.0.0.1");
    this.#track(upstream);
    socket.on("close", () => upstream.destroy());
    upstream.on("close", () => socket.destroy());
    socket.pipe(upstream).pipe(socket);
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket)).on("error", () => socket.destroy());
  }
}
