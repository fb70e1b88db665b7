import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Where a connection leads: the path of a Unix socket, or a port of loopback. */
export type ForwardTarget = string | number;

/** A TCP port on loopback that passes bytes to another socket, which may be another one for each connection. */
export class TcpForwarder {
  readonly #target: () => ForwardTarget | undefined;
  readonly #server = createServer({ noDelay: true }, (socket) => this.#forward(socket));
  readonly #sockets = new Set<Socket>();
  #port = 0;
  #isStalled = false;

  /** @param target undefined ends the connection at once. */
  constructor(target: () => ForwardTarget | undefined) {
    this.#target = target;
  }

  /** The port, which stays the same when the forwarder is closed and opened again. */
  get port(): number {
    return this.#port;
  }

  async open(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(this.#port, "127.0.0.1", resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** Keeps all connections open, also new ones, and passes no byte until {@link resume}. */
  stall(): void {
    this.#isStalled = true;
    this.freeze();
  }

  /** Keeps the present connections open and passes no byte on them, as after the loss of a path. New ones work. */
  freeze(): void {
    for (const socket of this.#sockets) socket.pause().unpipe();
  }

  /** Passes bytes again. Connections that were stalled are lost, as after a partition. */
  resume(): void {
    this.#isStalled = false;
    this.cut();
  }

  /** Cuts off all connections. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Refuses new connections, and cuts off the others. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.cut();
    await closed;
  }

  #forward(socket: Socket): void {
    this.#keep(socket);
    if (this.#isStalled) return;
    const target = this.#target();
    if (target === undefined) {
      socket.destroy();
      return;
    }
    const upstream = typeof target === "number" ? connect(target, "127.0.0.1") : connect(target);
    this.#keep(upstream);
    socket.on("close", () => upstream.destroy());
    upstream.on("close", () => socket.destroy());
    socket.pipe(upstream).pipe(socket);
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket)).on("error", () => socket.destroy());
  }
}
