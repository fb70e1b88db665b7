import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** The pause between two checks of a replica's readiness, in ms. */
const CHECK_MS = 50;

interface Replica {
  readonly port: number;
  readonly probe: string;
  isReady: boolean;
}

/**
 * A TCP proxy in front of several replicas. New connections go in turn to those whose last probe was 200, and to the next one
 * where a connection is refused. Connections that are open stay with their replica, whatever its probe says.
 */
export class Balancer {
  readonly #replicas = new Set<Replica>();
  readonly #server = createServer({ noDelay: true }, (socket) => this.#accept(socket));
  readonly #sockets = new Set<Socket>();
  readonly #closing = new AbortController();
  #turn = 0;

  async open(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /**
   * Adds a replica, and removes it when its process has ended.
   * @returns when it has been ready.
   */
  async add(url: string, probe: string, ended: Promise<unknown>): Promise<void> {
    const replica: Replica = { port: Number(new URL(url).port), probe, isReady: false };
    this.#replicas.add(replica);
    void ended.then(() => this.#replicas.delete(replica));
    await new Promise<void>((resolve) => void this.#check(replica, resolve));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #check(replica: Replica, onReady: () => void): Promise<void> {
    const { signal } = this.#closing;
    while (this.#replicas.has(replica) && !signal.aborted) {
      replica.isReady = await fetch(replica.probe, { signal }).then(
        async (response) => {
          await response.body?.cancel();
          return response.status === 200;
        },
        () => false,
      );
      if (replica.isReady) onReady();
      await new Promise((resolve) => setTimeout(resolve, CHECK_MS));
    }
  }

  #accept(socket: Socket): void {
    this.#keep(socket);
    const ready = [...this.#replicas].filter(({ isReady }) => isReady);
    const first = this.#turn++ % Math.max(1, ready.length);
    this.#forward(socket, [...ready.slice(first), ...ready.slice(0, first)]);
  }

  #forward(socket: Socket, [replica, ...others]: Replica[]): void {
    if (replica === undefined) {
      socket.destroy();
      return;
    }
    const upstream = connect({ port: replica.port, host: "127.0.0.1", noDelay: true });
    const next = () => this.#forward(socket, others);
    upstream.once("error", next);
    upstream.once("connect", () => {
      upstream.off("error", next);
      this.#keep(upstream);
      socket.on("close", () => upstream.destroy());
      upstream.on("error", () => socket.destroy());
      socket.pipe(upstream).pipe(socket);
    });
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket)).on("error", () => socket.destroy());
  }
}
