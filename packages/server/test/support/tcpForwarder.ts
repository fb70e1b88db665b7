import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A TCP port on loopback that passes bytes to a Unix socket, which may be another one for each connection. */
export class TcpForwarder {
  readonly #target: () => string | undefined;
  readonly #server = createServer({ noDelay: true }, (socket) => this.#forward(socket));
  readonly #sockets = new Set<Socket>();
  #isStalled = false;

  /** @param target the path of the socket; undefined refuses the connection. */
  constructor(target: () => string | undefined) {
    this.#target = target;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async open(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  /** Keeps all connections open, also new ones, and passes no byte until {@link resume}. */
  stall(): void {
    this.#isStalled = true;
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
    const inside = connect(target);
    this.#keep(inside);
    socket.on("close", () => inside.destroy());
    inside.on("close", () => socket.destroy());
    socket.pipe(inside).pipe(socket);
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket)).on("error", () => socket.destroy());
  }
}
