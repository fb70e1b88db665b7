import { type AddressInfo, connect, createServer, type Socket } from "node:net";

const SSL_REQUEST = 80_877_103;
const STARTUP_HEADER_BYTES = 8;

/** The most sessions that the pooler has with the database. */
const SESSIONS = 3;

/**
 * A connection pooler in transaction mode, in front of a database: it gives a client one of its sessions for one
 * transaction, and then gives the session to the next client. It speaks PostgreSQL's protocol (version 3) without
 * passwords and TLS.
 */
export class TransactionPooler {
  readonly #database: URL;
  readonly #server = createServer((socket) => this.#serve(socket));
  readonly #sockets = new Set<Socket>();
  readonly #free: Session[] = [];
  readonly #waiting: ((session: Session) => void)[] = [];
  #openedSessions = 0;

  private constructor(databaseUrl: string) {
    this.#database = new URL(databaseUrl);
  }

  static async inFrontOf(databaseUrl: string): Promise<TransactionPooler> {
    const pooler = new TransactionPooler(databaseUrl);
    await new Promise<void>((resolve) => pooler.#server.listen(0, "127.0.0.1", resolve));
    return pooler;
  }

  /** The URL of the database through the pooler. */
  get url(): string {
    const url = new URL(this.#database);
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #serve(socket: Socket): void {
    this.#keep(socket);
    let session: Session | undefined;
    let closing = false;
    let work = Promise.resolve();
    const forward = async (message: Buffer) => {
      if (message[0] === TERMINATE) {
        closing = true;
        socket.end();
        return;
      }
      session ??= await this.#acquire();
      const own = session;
      own.socket.write(message);
      own.onMessage = (answer) => {
        socket.write(answer);
        if (answer[0] !== READY || answer[5] !== IDLE) return;
        session = undefined;
        this.#release(own);
      };
    };
    const onMessages = messages((message) => {
      work = work.then(() => (closing ? undefined : forward(message)));
    });
    let hasStarted = false;
    socket.on("data", (data: Buffer) => {
      if (hasStarted) return onMessages(data);
      if (data.readInt32BE(4) === SSL_REQUEST) return void socket.write("N");
      hasStarted = true;
      // These messages end the start-up, after which a client may send queries. The key is the pooler's own.
      socket.write(Buffer.concat([AUTHENTICATED, OWN_KEY, READY_MESSAGE]));
      const length = data.readInt32BE(0);
      if (data.length > length) onMessages(data.subarray(length));
    });
  }

  async #acquire(): Promise<Session> {
    const free = this.#free.shift();
    if (free) return free;
    if (this.#openedSessions < SESSIONS) {
      this.#openedSessions++;
      return await this.#connect();
    }
    return await new Promise((resolve) => this.#waiting.push(resolve));
  }

  #release(session: Session): void {
    const next = this.#waiting.shift();
    if (next) next(session);
    else this.#free.push(session);
  }

  async #connect(): Promise<Session> {
    const { hostname, port, username, pathname } = this.#database;
    const socket = connect(Number(port), hostname);
    this.#keep(socket);
    const parameters = `user\0${username}\0database\0${pathname.slice(1)}\0\0`;
    const head = Buffer.alloc(STARTUP_HEADER_BYTES);
    head.writeInt32BE(STARTUP_HEADER_BYTES + parameters.length, 0);
    head.writeInt32BE(196_608, 4);
    const session: Session = { socket, onMessage: () => {} };
    await new Promise<void>((resolve) => {
      session.onMessage = ([type]) => type === READY && resolve();
      socket.on(
        "data",
        messages((message) => session.onMessage(message)),
      );
      socket.write(Buffer.concat([head, Buffer.from(parameters)]));
    });
    return session;
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket)).on("error", () => socket.destroy());
  }
}

interface Session {
  readonly socket: Socket;
  onMessage: (message: Buffer) => void;
}

const READY = "Z".charCodeAt(0);
const IDLE = "I".charCodeAt(0);
const TERMINATE = "X".charCodeAt(0);
const AUTHENTICATED = Buffer.from([..."R"].map((c) => c.charCodeAt(0)).concat([0, 0, 0, 8, 0, 0, 0, 0]));
const OWN_KEY = Buffer.from(
  [..."K"].map((c) => c.charCodeAt(0)).concat([0, 0, 0, 12, 1, 2, 3, 4, 5, 6, 7, 8]),
);
const READY_MESSAGE = Buffer.from([READY, 0, 0, 0, 5, IDLE]);

/** Cuts a stream into messages: a type of one byte, a length of four that counts itself, and the content. */
function messages(onMessage: (message: Buffer) => void): (data: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (data) => {
    rest = Buffer.concat([rest, data]);
    while (rest.length >= 5) {
      const end = 1 + rest.readInt32BE(1);
      if (rest.length < end) return;
      onMessage(rest.subarray(0, end));
      rest = rest.subarray(end);
    }
  };
}
